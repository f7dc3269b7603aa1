#include "ipc/types/snapshot_delta.h"

namespace vfiogate {
namespace {

template <typename Key, typename Value>
void diffMaps(const std::map<Key, Value>& before, const std::map<Key, Value>& after,
              std::vector<Value>& changed, std::vector<Key>& removed) {
  for (const auto& [key, value] : after) {
    const auto old = before.find(key);
    if (old == before.end() || old->second != value) changed.push_back(value);
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) removed.push_back(key);
  }
}

}  // namespace

SnapshotDelta diff(const Snapshot& before, const Snapshot& after) {
  SnapshotDelta delta;
  diffMaps(before.devices, after.devices, delta.changed, delta.removed);
  diffMaps(before.groups, after.groups, delta.changedGroups, delta.removedGroups);
  delta.controlNode = after.controlNode;
  delta.iommufdNode = after.iommufdNode;
  return delta;
}

Snapshot apply(Snapshot before, const SnapshotDelta& delta) {
  for (const Bdf& address : delta.removed) before.devices.erase(address);
  for (const IommuGroupId id : delta.removedGroups) before.groups.erase(id);
  for (const PciDevice& device : delta.changed) {
    before.devices.insert_or_assign(device.address, device);
  }
  for (const IommuGroup& group : delta.changedGroups) {
    before.groups.insert_or_assign(group.id, group);
  }
  before.controlNode = delta.controlNode;
  before.iommufdNode = delta.iommufdNode;
  return before;
}

}  // namespace vfiogate
