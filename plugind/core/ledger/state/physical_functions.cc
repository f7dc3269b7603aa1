#include "plugind/core/ledger/state/physical_functions.h"

#include "ipc/types/units.h"

namespace vfiogate {

std::set<UnitId> physicalFunctionsOf(const Snapshot& snapshot, const std::set<UnitId>& members) {
  std::set<UnitId> found;
  for (const UnitId& member : members) {
    const PciDevice* function = functionOf(snapshot, member);
    if (function == nullptr || !function->physicalFunction) continue;
    if (!members.contains(*function->physicalFunction)) found.insert(*function->physicalFunction);
  }
  return found;
}

std::optional<AllocatedPhysicalFunction> allocatedPhysicalFunction(
    const LedgerState& state, const std::set<UnitId>& members) {
  for (const UnitId& physical : physicalFunctionsOf(state.hardware.snapshot, members)) {
    AllocatedPhysicalFunction found;
    for (const std::size_t index : recordsMeeting(state, {physical})) {
      found.refs.push_back(state.records[index].ref.str());
      found.since = state.records[index].answeredAt;
    }
    if (const Take* take = takeMeeting(state, {physical})) {
      found.refs.push_back(take->ref.str());
      found.since = take->since;
    }
    if (found.refs.empty()) continue;
    found.bar = {"pf-allocated", "its physical function " + physical.str() +
                                     " is allocated since " + utcText(found.since)};
    return found;
  }
  return std::nullopt;
}

}  // namespace vfiogate
