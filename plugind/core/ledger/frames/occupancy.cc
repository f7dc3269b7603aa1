#include "plugind/core/ledger/frames/frames.h"

#include "plugind/core/ledger/state/physical_functions.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {

std::set<UnitId> engagedUnits(const LedgerState& state) {
  std::set<UnitId> units;
  const auto add = [&units](const std::set<UnitId>& members) {
    units.insert(members.begin(), members.end());
  };
  for (const HolderRecord& record : state.records) add(record.members);
  for (const auto& [id, call] : state.calls) {
    for (const auto& [group, take] : call.groups) add(take.members);
  }
  for (const GroupMark& mark : state.marks) add(mark.members);
  return units;
}

Occupancy occupancyOf(const LedgerState& state) {
  Occupancy found;
  found.engaged = engagedUnits(state);
  for (const HolderRecord& record : state.records) {
    if (record.isClaim()) continue;
    if (!record.set.empty()) {
      if (record.state != HolderState::kLingering) {
        found.keptSets[record.resource][record.set].insert(record.ids.begin(), record.ids.end());
      }
      continue;
    }
    for (const auto* ids : {&record.ids, &record.rest}) {
      for (const UnitId& id : *ids) {
        found.names[id].insert(record.resource);
        if (record.state != HolderState::kLingering) found.kept[record.resource].insert(id);
      }
    }
  }
  for (const auto& [id, call] : state.calls) {
    for (const auto& [group, take] : call.groups) {
      if (call.kind != CallKind::kAllocate) continue;
      if (!take.set.empty()) {
        found.keptSets[take.resource][take.set].insert(take.ids.begin(), take.ids.end());
        continue;
      }
      found.kept[take.resource].insert(take.ids.begin(), take.ids.end());
    }
  }
  return found;
}

bool isEngaged(const LedgerState& state, const Occupancy& occupancy, const UnitId& id) {
  return !occupancy.engaged.empty() &&
         meet(groupMembers(state.hardware.snapshot, id), occupancy.engaged);
}

bool isPfAllocated(const LedgerState& state, const Occupancy& occupancy, const UnitId& id) {
  if (occupancy.engaged.empty()) return false;
  const std::set<UnitId> members = groupMembers(state.hardware.snapshot, id);
  return meet(physicalFunctionsOf(state.hardware.snapshot, members), occupancy.engaged) &&
         allocatedPhysicalFunction(state, members).has_value();
}

}  // namespace vfiogate
