#include "plugind/core/resource/device_nodes.h"

#include "ipc/types/viability.h"

#include <algorithm>

namespace vfiogate {
namespace {

std::optional<Bar> barFromViability(const Snapshot& snapshot, const Bdf& address) {
  if (!snapshot.devices.contains(address)) {
    return Bar{"gone", "gone: unplugged or removed; plug it in or rescan the bus"};
  }
  const Viability judged = viability(snapshot, address);
  if (judged.ready()) return std::nullopt;
  return Bar{std::string(reasonCode(judged.obstacle)), explain(snapshot, address, judged)};
}

Bar noNode(Backend backend) {
  switch (backend) {
    case Backend::kLegacy:
      return {"no-node", "backend legacy needs /dev/vfio/vfio and the group's node: load vfio"};
    case Backend::kIommufd:
      return {"no-node", "backend iommufd needs /dev/iommu and a node in /dev/vfio/devices"};
    case Backend::kBoth:
      return {"no-node", "backend both needs the group's node and one in /dev/vfio/devices"};
    case Backend::kAuto:
      break;
  }
  return {"no-node", "needs /dev/vfio/vfio or /dev/iommu beside its node: load vfio"};
}

/// The ways that are taken to one device, at least one.
Result<VfioWays, Bar> waysFor(const Snapshot& snapshot, const Bdf& address, Backend backend) {
  if (auto bar = barFromViability(snapshot, address)) return Failure{*std::move(bar)};
  const VfioWays chosen = waysTo(snapshot, snapshot.devices.at(address), backend);
  if (!chosen.legacy && !chosen.iommufd) return Failure{noNode(backend)};
  return chosen;
}

}  // namespace

Result<std::vector<std::string>, Bar> deviceNodes(const Snapshot& snapshot,
                                                  const std::set<Bdf>& ids, Backend backend) {
  VfioNodes nodes;
  for (const Bdf& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return Failure{ways.error()};
    nodes.add(snapshot.devices.at(address), *ways);
  }
  return pathsOf(nodes.nodes());
}

std::optional<Bar> barTo(const Snapshot& snapshot, const std::set<Bdf>& ids, Backend backend) {
  for (const Bdf& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return ways.error();
  }
  return std::nullopt;
}

std::set<Bdf> groupMembers(const Snapshot& snapshot, const Bdf& address) {
  std::set<Bdf> members{address};
  const auto device = snapshot.devices.find(address);
  if (device == snapshot.devices.end() || !device->second.group) return members;
  const auto group = snapshot.groups.find(*device->second.group);
  if (group == snapshot.groups.end()) return members;
  members.insert(group->second.members.begin(), group->second.members.end());
  return members;
}

bool meet(const std::set<Bdf>& left, const std::set<Bdf>& right) {
  return std::ranges::any_of(left, [&right](const Bdf& one) { return right.contains(one); });
}

}  // namespace vfiogate
