#include "plugind/core/device_nodes.h"

#include "ipc/types/viability.h"

namespace vfiogate {
namespace {

/// The nodes as they are collected: sorted, each once.
struct NodeSet {
  std::set<IommuGroupId> groups;
  std::set<std::uint32_t> devices;

  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    if (!groups.empty()) paths.emplace_back("/dev/vfio/vfio");
    for (const IommuGroupId group : groups) {
      paths.push_back("/dev/vfio/" + std::to_string(group.number()));
    }
    if (!devices.empty()) paths.emplace_back("/dev/iommu");
    for (const std::uint32_t device : devices) {
      paths.push_back("/dev/vfio/devices/vfio" + std::to_string(device));
    }
    return paths;
  }
};

/// Which of the two ways are there for one device.
struct Ways {
  bool legacy = false;
  bool iommufd = false;
};

std::optional<Bar> barFromViability(const Snapshot& snapshot, const Bdf& address) {
  if (!snapshot.devices.contains(address)) {
    return Bar{"gone", "gone: unplugged or removed; plug it in or rescan the bus"};
  }
  const Viability judged = viability(snapshot, address);
  if (judged.ready()) return std::nullopt;
  return Bar{std::string(reasonCode(judged.obstacle)), explain(snapshot, address, judged)};
}

Ways waysTo(const Snapshot& snapshot, const PciDevice& device) {
  const IommuGroup& group = snapshot.groups.at(*device.group);
  return {.legacy = group.groupNode && snapshot.controlNode,
          .iommufd = device.cdevNode && device.vfioDev && snapshot.iommufdNode};
}

/// The ways that `backend` takes of those that are there; neither: it cannot be served.
Ways choose(Ways there, Backend backend) {
  switch (backend) {
    case Backend::kAuto:
      return {.legacy = there.legacy, .iommufd = !there.legacy && there.iommufd};
    case Backend::kLegacy:
      return {.legacy = there.legacy, .iommufd = false};
    case Backend::kIommufd:
      return {.legacy = false, .iommufd = there.iommufd};
    case Backend::kBoth:
      return there.legacy && there.iommufd ? there : Ways{};
  }
  return {};
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
Result<Ways, Bar> waysFor(const Snapshot& snapshot, const Bdf& address, Backend backend) {
  if (auto bar = barFromViability(snapshot, address)) return Failure{*std::move(bar)};
  const Ways chosen = choose(waysTo(snapshot, snapshot.devices.at(address)), backend);
  if (!chosen.legacy && !chosen.iommufd) return Failure{noNode(backend)};
  return chosen;
}

}  // namespace

Result<std::vector<std::string>, Bar> deviceNodes(const Snapshot& snapshot,
                                                  const std::set<Bdf>& ids, Backend backend) {
  NodeSet nodes;
  for (const Bdf& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return Failure{ways.error()};
    const PciDevice& device = snapshot.devices.at(address);
    if (ways->legacy) nodes.groups.insert(*device.group);
    if (ways->iommufd) nodes.devices.insert(*device.vfioDev);
  }
  return nodes.paths();
}

std::optional<Bar> barTo(const Snapshot& snapshot, const std::set<Bdf>& ids, Backend backend) {
  for (const Bdf& address : ids) {
    const auto ways = waysFor(snapshot, address, backend);
    if (!ways) return ways.error();
  }
  return std::nullopt;
}

}  // namespace vfiogate
