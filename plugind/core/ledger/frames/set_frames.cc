#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/set_units.h"

namespace vfiogate {
namespace {

/// Nobody has the unit's group, and it could be allocated as it is.
bool isFreeAndGood(const LedgerState& state, const Occupancy& occupancy,
                   const ResourceName& resource, const UnitId& unit) {
  if (state.catalog.leftOut.contains(unit)) return false;
  if (isEngaged(state, occupancy, unit) || isPfAllocated(state, occupancy, unit)) return false;
  if (!state.suspected.empty() && suspectedIn(state, reachOf(state, {unit})) != nullptr) {
    return false;
  }
  const auto handed = handedOver(state.hardware, state.catalog, resource, {unit});
  const bool rests =
      std::ranges::any_of(handed, [&](const UnitId& each) { return isResting(state, each); });
  return !rests && allocatable(judgeReadiness(state.hardware, resource, handed,
                                              allocationOf(state, resource)));
}

/// Somebody has units of the set under its id, and nobody else has one of the others. Units that
/// are not configured for it any more say that somebody has what it was before.
bool isKept(const LedgerState& state, const Occupancy& occupancy, const ResourceName& resource,
            const std::string& id, const std::set<UnitId>& units) {
  const auto sets = occupancy.keptSets.find(resource);
  if (sets == occupancy.keptSets.end()) return false;
  const auto kept = sets->second.find(id);
  if (kept == sets->second.end()) return false;
  if (!std::ranges::includes(units, kept->second)) return true;
  return std::ranges::none_of(units, [&](const UnitId& unit) {
    return !kept->second.contains(unit) && isEngaged(state, occupancy, unit);
  });
}

}  // namespace

bool isSetHealthy(const LedgerState& state, const Occupancy& occupancy,
                  const ResourceName& resource, const std::string& id) {
  const std::set<UnitId> units = unitsOfSet(state, resource, id);
  const bool there = !units.empty() && std::ranges::all_of(units, [&state](const UnitId& unit) {
    return answers(state.hardware.snapshot, unit);
  });
  if (!there) return false;
  if (isKept(state, occupancy, resource, id, units)) return true;
  const auto configured = state.catalog.resources.find(resource);
  const bool advertised = configured != state.catalog.resources.end() &&
                          configured->second.sets.contains(id) &&
                          servesPlugin(configured->second.allocation);
  if (state.allocationClosed || !advertised) return false;
  return std::ranges::all_of(
      units, [&](const UnitId& unit) { return isFreeAndGood(state, occupancy, resource, unit); });
}

}  // namespace vfiogate
