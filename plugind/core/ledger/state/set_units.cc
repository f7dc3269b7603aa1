#include "plugind/core/ledger/state/set_units.h"

#include <algorithm>

#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

std::set<UnitId> configuredUnits(const LedgerState& state, const ResourceName& resource,
                                 const std::string& id) {
  const auto found = state.catalog.resources.find(resource);
  if (found == state.catalog.resources.end()) return {};
  const auto set = found->second.sets.find(id);
  return set == found->second.sets.end() ? std::set<UnitId>{} : set->second;
}

std::set<UnitId> recordedUnits(const LedgerState& state, const ResourceName& resource,
                               const std::string& id) {
  std::set<UnitId> units;
  for (const HolderRecord& record : state.records) {
    if (record.resource != resource || record.set != id) continue;
    units.insert(record.ids.begin(), record.ids.end());
  }
  return units;
}

}  // namespace

std::set<UnitId> unitsOfSet(const LedgerState& state, const ResourceName& resource,
                            const std::string& id) {
  std::set<UnitId> configured = configuredUnits(state, resource, id);
  return configured.empty() ? recordedUnits(state, resource, id) : configured;
}

std::map<UnitId, std::string> setsNamed(const LedgerState& state, const ResourceName& resource,
                                        const std::set<std::string>& ids) {
  std::map<UnitId, std::string> sets;
  for (const std::string& id : ids) {
    if (!isSetId(id)) continue;
    const std::set<UnitId> recorded = recordedUnits(state, resource, id);
    for (const UnitId& unit : recorded.empty() ? configuredUnits(state, resource, id) : recorded) {
      sets.emplace(unit, id);
    }
  }
  return sets;
}

std::optional<std::uint32_t> commonNumaNode(const Snapshot& snapshot,
                                            const std::set<UnitId>& units) {
  if (units.empty()) return std::nullopt;
  const auto node = numaNodeOf(snapshot, *units.begin());
  const bool common = std::ranges::all_of(
      units, [&](const UnitId& unit) { return numaNodeOf(snapshot, unit) == node; });
  return common ? node : std::nullopt;
}

std::map<UnitId, std::string> setsIn(const LedgerState& state, const RecordedDevices& entry) {
  const auto resource = ResourceName::parse(entry.resource);
  const auto first = std::ranges::find_if(entry.ids, isSetId);
  if (!resource || first == entry.ids.end()) return {};
  std::map<UnitId, std::string> sets = setsNamed(state, *resource, entry.ids);
  std::set<UnitId> allocated;
  if (entry.allocated) allocated = askedIn(*entry.allocated);
  if (allocated.empty()) return sets;
  std::erase_if(sets, [&allocated](const auto& one) { return !allocated.contains(one.first); });
  // What is left over is one set's that has other units by now; of several the answer does not tell
  // which.
  for (const UnitId& unit : allocated) {
    if (!entry.ids.contains(unit.str())) sets.emplace(unit, *first);
  }
  return sets;
}

std::map<UnitId, std::string> setsAmong(const LedgerState& state, const ResourceName& resource,
                                        const std::set<UnitId>& ids) {
  std::map<UnitId, std::string> sets;
  const auto found = state.catalog.resources.find(resource);
  if (found == state.catalog.resources.end()) return sets;
  for (const auto& [id, units] : found->second.sets) {
    if (!std::ranges::includes(ids, units)) continue;
    for (const UnitId& unit : units) sets.emplace(unit, id);
  }
  return sets;
}

std::optional<UnitId> sharedUnit(const LedgerState& state, const ResourceName& resource,
                                 const std::vector<std::string>& ids) {
  std::set<UnitId> taken;
  for (const std::string& id : ids) {
    if (!isSetId(id)) continue;
    const std::set<UnitId> reach = reachOf(state, unitsOfSet(state, resource, id));
    for (const UnitId& unit : reach) {
      if (taken.contains(unit)) return unit;
    }
    taken.insert(reach.begin(), reach.end());
  }
  return std::nullopt;
}

}  // namespace vfiogate
