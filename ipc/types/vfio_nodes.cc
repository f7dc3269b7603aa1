#include "ipc/types/vfio_nodes.h"

#include "ipc/types/viability.h"

namespace vfiogate {

VfioWays waysTo(const Snapshot& snapshot, const PciDevice& device, Backend backend) {
  const IommuGroup& group = snapshot.groups.at(*device.group);
  const bool legacy = group.groupNode && snapshot.controlNode;
  const bool iommufd = device.cdevNode && device.vfioDev && snapshot.iommufdNode;
  switch (backend) {
    case Backend::kAuto:
      return {.legacy = legacy, .iommufd = !legacy && iommufd};
    case Backend::kLegacy:
      return {.legacy = legacy, .iommufd = false};
    case Backend::kIommufd:
      return {.legacy = false, .iommufd = iommufd};
    case Backend::kBoth:
      return {.legacy = legacy && iommufd, .iommufd = legacy && iommufd};
  }
  return {};
}

void VfioNodes::add(const PciDevice& device, VfioWays ways) {
  if (ways.legacy) groups_.insert(*device.group);
  if (ways.iommufd) devices_.insert(*device.vfioDev);
}

std::vector<std::string> VfioNodes::paths() const {
  std::vector<std::string> paths;
  if (!groups_.empty()) paths.emplace_back("/dev/vfio/vfio");
  for (const IommuGroupId group : groups_) {
    paths.push_back("/dev/vfio/" + std::to_string(group.number()));
  }
  if (!devices_.empty()) paths.emplace_back("/dev/iommu");
  for (const std::uint32_t device : devices_) {
    paths.push_back("/dev/vfio/devices/vfio" + std::to_string(device));
  }
  return paths;
}

std::optional<std::vector<std::string>> vfioNodes(const Snapshot& snapshot,
                                                  const std::set<Bdf>& addresses, Backend backend) {
  VfioNodes nodes;
  for (const Bdf& address : addresses) {
    const auto device = snapshot.devices.find(address);
    if (device == snapshot.devices.end() || !viability(snapshot, address).ready()) {
      return std::nullopt;
    }
    const VfioWays ways = waysTo(snapshot, device->second, backend);
    if (!ways.legacy && !ways.iommufd) return std::nullopt;
    nodes.add(device->second, ways);
  }
  return nodes.paths();
}

}  // namespace vfiogate
