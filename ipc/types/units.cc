#include "ipc/types/units.h"

namespace vfiogate {

const PciDevice* functionOf(const Snapshot& snapshot, const UnitId& id) {
  const Bdf* address = id.address();
  const auto found = address == nullptr ? snapshot.devices.end() : snapshot.devices.find(*address);
  return found == snapshot.devices.end() ? nullptr : &found->second;
}

const MediatedDevice* mediatedOf(const Snapshot& snapshot, const UnitId& id) {
  const Uuid* uuid = id.uuid();
  const auto found = uuid == nullptr ? snapshot.mediated.end() : snapshot.mediated.find(*uuid);
  return found == snapshot.mediated.end() ? nullptr : &found->second;
}

bool isPresent(const Snapshot& snapshot, const UnitId& id) {
  return functionOf(snapshot, id) != nullptr || mediatedOf(snapshot, id) != nullptr;
}

std::optional<IommuGroupId> groupOf(const Snapshot& snapshot, const UnitId& id) {
  if (const PciDevice* function = functionOf(snapshot, id)) return function->group;
  const MediatedDevice* mediated = mediatedOf(snapshot, id);
  return mediated == nullptr ? std::nullopt : mediated->group;
}

bool answers(const Snapshot& snapshot, const UnitId& id) {
  const PciDevice* function = functionOf(snapshot, id);
  return function == nullptr ? mediatedOf(snapshot, id) != nullptr : function->answers;
}

std::optional<std::uint32_t> numaNodeOf(const Snapshot& snapshot, const UnitId& id) {
  if (const PciDevice* function = functionOf(snapshot, id)) return function->numaNode;
  const MediatedDevice* mediated = mediatedOf(snapshot, id);
  return mediated == nullptr ? std::nullopt : mediated->numaNode;
}

std::string pcieRootOf(const Snapshot& snapshot, const UnitId& id) {
  const PciDevice* function = functionOf(snapshot, id);
  const MediatedDevice* mediated = mediatedOf(snapshot, id);
  if (mediated != nullptr && mediated->parent) function = functionOf(snapshot, *mediated->parent);
  return function == nullptr ? std::string() : function->pcieRoot;
}

std::set<UnitId> unitsOf(const IommuGroup& group) {
  std::set<UnitId> units(group.members.begin(), group.members.end());
  units.insert(group.mediated.begin(), group.mediated.end());
  return units;
}

std::set<UnitId> unitsOf(const Snapshot& snapshot, IommuGroupId group) {
  const auto found = snapshot.groups.find(group);
  return found == snapshot.groups.end() ? std::set<UnitId>() : unitsOf(found->second);
}

}  // namespace vfiogate
