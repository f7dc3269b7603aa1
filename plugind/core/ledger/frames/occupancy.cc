#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>
#include <iterator>

#include "plugind/core/ledger/state/physical_functions.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// What a set's record keeps of it: a device whose group it does not have is not its any more.
void addKept(std::set<UnitId>& kept, const std::set<UnitId>& ids, const std::set<UnitId>& members) {
  std::ranges::set_intersection(ids, members, std::inserter(kept, kept.end()));
}

}  // namespace

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
        addKept(found.keptSets[record.resource][record.set], record.ids, record.members);
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
        addKept(found.keptSets[take.resource][take.set], take.ids, take.members);
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
