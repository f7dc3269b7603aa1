#include "plugind/core/ledger/frames/frames.h"

#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// The one of the group's devices that stands for it: what is held, what the device plugin shows,
/// what stood for it before, the lowest.
UnitId unitOf(const LedgerState& state, const ResourceName& resource,
              const std::set<UnitId>& like) {
  for (const HolderRecord& record : state.records) {
    if (record.resource != resource) continue;
    for (const UnitId& id : record.ids) {
      if (like.contains(id)) return id;
    }
  }
  const auto shown = state.shown.find(resource);
  if (shown != state.shown.end()) {
    for (const UnitId& id : like) {
      if (shown->second.representatives.contains(id)) return id;
    }
  }
  for (const UnitId& id : like) {
    if (draUnitsOf(state, resource).contains(id)) return id;
  }
  return *like.begin();
}

}  // namespace

const std::set<UnitId>& draUnitsOf(const LedgerState& state, const ResourceName& resource) {
  static const std::set<UnitId> kNone;
  const auto found = state.draUnits.find(resource);
  return found == state.draUnits.end() ? kNone : found->second;
}

void keepDraUnits(Turn& turn) {
  LedgerState& state = turn.state;
  std::map<ResourceName, std::set<UnitId>> units;
  for (const auto& [name, resource] : state.catalog.resources) {
    const bool whole = resource.allocation.groupUnit == GroupUnit::kWhole;
    if (!whole || !servesDra(resource.allocation)) continue;
    std::map<std::set<UnitId>, std::set<UnitId>> groups;  // by members
    for (const UnitId& id : resource.devices) {
      groups[groupMembers(state.hardware.snapshot, id)].insert(id);
    }
    for (const auto& [members, like] : groups) units[name].insert(unitOf(state, name, like));
  }
  state.draUnits = std::move(units);
}

}  // namespace vfiogate
