#include "ipc/types/vfio_nodes.h"

#include "ipc/types/viability.h"

namespace vfiogate {

VfioPlace placeOf(const Snapshot& snapshot, const UnitId& id) {
  if (const PciDevice* device = functionOf(snapshot, id)) {
    return {device->group, device->vfioDev, device->cdevNode};
  }
  const MediatedDevice* device = mediatedOf(snapshot, id);
  return device == nullptr ? VfioPlace{}
                           : VfioPlace{device->group, device->vfioDev, device->cdevNode};
}

VfioWays waysTo(const Snapshot& snapshot, const VfioPlace& place, Backend backend) {
  const auto group = place.group ? snapshot.groups.find(*place.group) : snapshot.groups.end();
  if (group == snapshot.groups.end()) return {};
  const bool legacy = group->second.groupNode && snapshot.controlNode &&
                      group->second.noIommu == (backend == Backend::kNoIommu);
  const bool iommufd = place.cdevNode && place.vfioDev && snapshot.iommufdNode;
  switch (backend) {
    case Backend::kAuto:
      return {.legacy = legacy, .iommufd = !legacy && iommufd};
    case Backend::kLegacy:
      return {.legacy = legacy, .iommufd = false};
    case Backend::kIommufd:
      return {.legacy = false, .iommufd = iommufd};
    case Backend::kBoth:
      return {.legacy = legacy && iommufd, .iommufd = legacy && iommufd};
    case Backend::kAutoIommufd:
      return {.legacy = legacy && !iommufd, .iommufd = iommufd};
    case Backend::kNoIommu:
      return {.legacy = legacy, .iommufd = false, .noIommu = true};
  }
  return {};
}

std::string pathOf(const SpecNode& node) {
  switch (node.kind) {
    case SpecNode::Kind::kContainer:
      return "/dev/vfio/vfio";
    case SpecNode::Kind::kGroup:
      return "/dev/vfio/" + std::to_string(node.number);
    case SpecNode::Kind::kNoIommuGroup:
      return "/dev/vfio/noiommu-" + std::to_string(node.number);
    case SpecNode::Kind::kIommufd:
      return "/dev/iommu";
    case SpecNode::Kind::kEgm:
      return "/dev/egm" + std::to_string(node.number);
    case SpecNode::Kind::kDevice:
      break;
  }
  return "/dev/vfio/devices/vfio" + std::to_string(node.number);
}

std::vector<std::string> pathsOf(const SpecNodes& nodes) {
  std::vector<std::string> paths;
  for (const SpecNode& node : nodes) paths.push_back(pathOf(node));
  return paths;
}

void VfioNodes::add(const VfioPlace& place, VfioWays ways) {
  using Kind = SpecNode::Kind;
  if (ways.legacy) {
    groups_.insert({ways.noIommu ? Kind::kNoIommuGroup : Kind::kGroup, place.group->number()});
  }
  if (ways.iommufd) devices_.insert(*place.vfioDev);
}

SpecNodes VfioNodes::nodes() const {
  using Kind = SpecNode::Kind;
  SpecNodes nodes;
  if (!groups_.empty()) nodes.push_back({.kind = Kind::kContainer});
  nodes.insert(nodes.end(), groups_.begin(), groups_.end());
  if (!devices_.empty()) nodes.push_back({.kind = Kind::kIommufd});
  for (const std::uint32_t device : devices_) nodes.push_back({Kind::kDevice, device});
  return nodes;
}

std::optional<SpecNodes> vfioNodes(const Snapshot& snapshot, const std::set<UnitId>& addresses,
                                   Backend backend) {
  VfioNodes nodes;
  for (const UnitId& address : addresses) {
    if (!isPresent(snapshot, address) || !viabilityOf(snapshot, address).ready()) {
      return std::nullopt;
    }
    const VfioPlace place = placeOf(snapshot, address);
    const VfioWays ways = waysTo(snapshot, place, backend);
    if (!ways.legacy && !ways.iommufd) return std::nullopt;
    nodes.add(place, ways);
  }
  return nodes.nodes();
}

}  // namespace vfiogate
