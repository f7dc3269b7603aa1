#include "ipc/types/snapshot_delta.h"

namespace vfiogate {
namespace {

template <typename Key, typename Value>
void diffMaps(const std::map<Key, Value>& before, const std::map<Key, Value>& after,
              std::vector<Value>& changed, std::vector<Key>& removed) {
  // Both at once: a search for each of thousands of devices would take longer than the copies.
  auto old = before.begin();
  for (const auto& [key, value] : after) {
    for (; old != before.end() && old->first < key; ++old) removed.push_back(old->first);
    const bool known = old != before.end() && old->first == key;
    if (!known || old->second != value) changed.push_back(value);
    if (known) ++old;
  }
  for (; old != before.end(); ++old) removed.push_back(old->first);
}

}  // namespace

SnapshotDelta diff(const Snapshot& before, const Snapshot& after) {
  SnapshotDelta delta;
  diffMaps(before.devices, after.devices, delta.changed, delta.removed);
  diffMaps(before.groups, after.groups, delta.changedGroups, delta.removedGroups);
  diffMaps(before.mediated, after.mediated, delta.changedMediated, delta.removedMediated);
  delta.egm = after.egm;
  delta.controlNode = after.controlNode;
  delta.iommufdNode = after.iommufdNode;
  delta.vfioPci = after.vfioPci;
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
  for (const Uuid& uuid : delta.removedMediated) before.mediated.erase(uuid);
  for (const MediatedDevice& mediated : delta.changedMediated) {
    before.mediated.insert_or_assign(mediated.uuid, mediated);
  }
  before.egm = delta.egm;
  before.controlNode = delta.controlNode;
  before.iommufdNode = delta.iommufdNode;
  before.vfioPci = delta.vfioPci;
  return before;
}

}  // namespace vfiogate
