#include "plugind/dra/pool/product_names.h"

#include "plugind/core/dra/device_attributes.h"

#include <string>

namespace vfiogate {

void addProductNames(DevicePool& pool, const Snapshot& hardware, const PciIds& ids) {
  constexpr std::size_t kLongestText = 64;
  for (auto& [name, published] : pool.devices) {
    const auto address = deviceAddress(name);
    const auto found = address ? hardware.devices.find(*address) : hardware.devices.end();
    if (found == hardware.devices.end()) continue;
    const PciDevice& device = found->second;
    if (!device.vendor || !device.device) continue;
    const auto product = ids.device(*device.vendor, *device.device);
    if (product) published.attributes.emplace("productName", product->substr(0, kLongestText));
  }
}

}  // namespace vfiogate
