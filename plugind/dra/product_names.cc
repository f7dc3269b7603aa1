#include "plugind/dra/product_names.h"

#include "ipc/types/hex.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestText = 64;
constexpr std::size_t kDigits = 4;

std::optional<std::uint16_t> numberIn(const PoolDevice& device, const char* attribute) {
  const auto found = device.attributes.find(attribute);
  if (found == device.attributes.end()) return std::nullopt;
  const auto* text = std::get_if<std::string>(&found->second);
  const auto number = text == nullptr ? std::nullopt : parseHexDigits(*text, kDigits);
  if (!number) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

}  // namespace

void addProductNames(DevicePool& pool, const PciIds& ids) {
  for (auto& [name, device] : pool.devices) {
    const auto vendor = numberIn(device, "vendor");
    const auto model = numberIn(device, "device");
    if (!vendor || !model) continue;
    auto product = ids.device(*vendor, *model);
    if (product) device.attributes.emplace("productName", product->substr(0, kLongestText));
  }
}

}  // namespace vfiogate
