#include "plugind/core/resource/device_nodes.h"

#include "ipc/types/viability.h"

#include <algorithm>

namespace vfiogate {
namespace {

std::optional<Bar> barFromViability(const Snapshot& snapshot, const UnitId& address,
                                    Backend backend) {
  if (!isPresent(snapshot, address)) {
    return Bar{"gone", address.uuid() == nullptr
                           ? "gone: unplugged or removed; plug it in or rescan the bus"
                           : "gone: removed, or its parent left its driver; make it again"};
  }
  const Viability judged = viabilityOf(snapshot, address);
  const bool accepted = judged.obstacle == Obstacle::kNoIommu && backend == Backend::kNoIommu;
  if (judged.ready() || accepted) return std::nullopt;
  return Bar{std::string(reasonCode(judged.obstacle)), explainUnit(snapshot, address, judged)};
}

Bar noNode(Backend backend) {
  switch (backend) {
    case Backend::kLegacy:
      return {"no-node", "backend legacy needs /dev/vfio/vfio and the group's node: load vfio"};
    case Backend::kIommufd:
      return {"no-node", "backend iommufd needs /dev/iommu and a node in /dev/vfio/devices"};
    case Backend::kBoth:
      return {"no-node", "backend both needs the group's node and one in /dev/vfio/devices"};
    case Backend::kNoIommu:
      return {"no-node",
              "backend noiommu needs /dev/vfio/vfio and a group of VFIO's no-IOMMU mode: devices "
              "behind an IOMMU are for backend auto"};
    case Backend::kAuto:
    case Backend::kAutoIommufd:
      break;
  }
  return {"no-node", "needs /dev/vfio/vfio or /dev/iommu beside its node: load vfio"};
}

/// The ways that are taken to one device, at least one.
Result<VfioWays, Bar> waysFor(const Snapshot& snapshot, const UnitId& address, Backend backend) {
  if (auto bar = barFromViability(snapshot, address, backend)) return Failure{*std::move(bar)};
  const VfioWays chosen = waysTo(snapshot, placeOf(snapshot, address), backend);
  if (!chosen.legacy && !chosen.iommufd) return Failure{noNode(backend)};
  return chosen;
}

}  // namespace

Result<std::vector<std::string>, Bar> deviceNodes(const Snapshot& snapshot,
                                                  const std::set<UnitId>& ids, Backend backend) {
  VfioNodes nodes;
  for (const UnitId& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return Failure{ways.error()};
    nodes.add(placeOf(snapshot, address), *ways);
  }
  return pathsOf(nodes.nodes());
}

std::optional<Bar> barTo(const Snapshot& snapshot, const std::set<UnitId>& ids, Backend backend) {
  for (const UnitId& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return ways.error();
  }
  return std::nullopt;
}

SpecNodes egmNodes(const std::vector<EgmRegion>& regions, const std::set<UnitId>& ids) {
  SpecNodes nodes;
  for (const EgmRegion& region : regions) {
    const bool whole = std::ranges::all_of(
        region.gpus, [&ids](const Bdf& gpu) { return ids.contains(UnitId(gpu)); });
    if (whole) nodes.push_back({SpecNode::Kind::kEgm, region.number});
  }
  return nodes;
}

std::optional<std::uint32_t> egmRegionOf(const std::vector<EgmRegion>& regions, const UnitId& id) {
  const Bdf* gpu = id.address();
  for (const EgmRegion& region : regions) {
    if (gpu != nullptr && std::ranges::binary_search(region.gpus, *gpu)) return region.number;
  }
  return std::nullopt;
}

std::set<UnitId> groupMembers(const Snapshot& snapshot, const UnitId& address) {
  std::set<UnitId> members{address};
  if (const auto group = groupOf(snapshot, address)) members.merge(unitsOf(snapshot, *group));
  return members;
}

bool meet(const std::set<UnitId>& left, const std::set<UnitId>& right) {
  return std::ranges::any_of(left, [&right](const UnitId& one) { return right.contains(one); });
}

}  // namespace vfiogate
