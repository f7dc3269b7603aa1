#include "plugind/core/status/explanation.h"

#include <algorithm>

#include "plugind/core/ledger/state/set_units.h"

namespace vfiogate {
namespace {

/// Why the set cannot be allocated: the first of its units that cannot.
Bar barOfSet(const LedgerState& state, const ResourceStatus& resource,
             const std::set<UnitId>& units) {
  for (const UnitId& unit : units) {
    const auto leftOut = state.catalog.leftOut.find(unit);
    if (leftOut != state.catalog.leftOut.end()) {
      return {leftOut->second.reason, unit.str() + ": " + leftOut->second.text};
    }
    const auto device = std::ranges::find(resource.devices, unit, &DeviceStatus::address);
    if (device == resource.devices.end()) continue;
    if (!isPresent(state.hardware.snapshot, unit)) {
      return {"gone", unit.str() + ": there is no such device: correct the set, or plug it in"};
    }
    const Bar bar = offerReason(state, resource.name, *device);
    if (bar.reason == "offered" || bar.reason == "resting") continue;
    return {bar.reason, unit.str() + ": " + bar.text};
  }
  return {"resting", "it left a moment ago, and comes back after a short time"};
}

}  // namespace

std::vector<SetStatus> setsOf(const LedgerState& state, const ResourceStatus& resource,
                              const ShownResource& shown) {
  std::set<std::string> ids;
  const auto configured = state.catalog.resources.find(resource.name);
  if (configured != state.catalog.resources.end()) {
    for (const auto& [id, units] : configured->second.sets) ids.insert(id);
  }
  for (const auto& [id, device] : shown.devices) {
    if (isSetId(id)) ids.insert(id);
  }
  std::vector<SetStatus> sets;
  for (const std::string& id : ids) {
    const auto inFrame = shown.devices.find(id);
    SetStatus set{.name = setNameIn(id).value_or(""),
                  .units = unitsOfSet(state, resource.name, id)};
    set.shown = inFrame != shown.devices.end();
    set.healthy = set.shown && inFrame->second.device.healthy;
    const Bar bar = set.healthy ? Bar{"offered", ""} : barOfSet(state, resource, set.units);
    set.reason = bar.reason;
    set.reasonText = bar.text;
    sets.push_back(std::move(set));
  }
  return sets;
}

Bar reasonInSets(const LedgerState& state, const std::vector<SetStatus>& sets,
                 const ResourceName& resource, const DeviceStatus& device) {
  std::string names;
  for (const SetStatus& set : sets) {
    if (!set.units.contains(device.address)) continue;
    if (set.healthy) return {"offered", ""};
    names += (names.empty() ? "" : ", ") + set.name;
  }
  const Bar own = offerReason(state, resource, device);
  if (own.reason != "offered" && own.reason != "resting") return own;
  return {"set-incomplete",
          "no set with it can be allocated now (" + names + "): plugind status says why of each"};
}

}  // namespace vfiogate
