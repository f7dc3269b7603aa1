#include "ipc/types/units.h"

namespace vfiogate {

const PciDevice* functionOf(const Snapshot& snapshot, const UnitId& id) {
  const Bdf* address = id.address();
  const auto found = address == nullptr ? snapshot.devices.end() : snapshot.devices.find(*address);
  return found == snapshot.devices.end() ? nullptr : &found->second;
}

bool isPresent(const Snapshot& snapshot, const UnitId& id) {
  return functionOf(snapshot, id) != nullptr;
}

std::optional<IommuGroupId> groupOf(const Snapshot& snapshot, const UnitId& id) {
  const PciDevice* function = functionOf(snapshot, id);
  return function == nullptr ? std::nullopt : function->group;
}

bool answers(const Snapshot& snapshot, const UnitId& id) {
  const PciDevice* function = functionOf(snapshot, id);
  return function != nullptr && function->answers;
}

std::optional<std::uint32_t> numaNodeOf(const Snapshot& snapshot, const UnitId& id) {
  const PciDevice* function = functionOf(snapshot, id);
  return function == nullptr ? std::nullopt : function->numaNode;
}

std::set<UnitId> unitsOf(const IommuGroup& group) {
  return {group.members.begin(), group.members.end()};
}

std::set<UnitId> unitsOf(const Snapshot& snapshot, IommuGroupId group) {
  const auto found = snapshot.groups.find(group);
  return found == snapshot.groups.end() ? std::set<UnitId>() : unitsOf(found->second);
}

}  // namespace vfiogate
