#include "plugind/core/ledger/frames/offers.h"

#include <algorithm>

#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

bool wasShown(const Frame& frame, const std::string& id) {
  return std::ranges::find(frame.devices, id, &FrameDevice::id) != frame.devices.end();
}

/// The resource has the device now, or somebody holds it under that name.
bool knows(const LedgerState& state, const ResourceName& resource, const UnitId& address) {
  if (!hasSets(state.catalog, resource) && hasDevice(state.catalog, resource, address)) return true;
  return std::ranges::any_of(state.records, [&](const HolderRecord& record) {
    return record.resource == resource &&
           (record.ids.contains(address) || record.rest.contains(address));
  });
}

void addTo(std::vector<Offer>& offers, const LedgerState& state, const ResourceName& resource,
           const UnitId& address, const std::string& set = {}) {
  const auto group = groupNumber(state, {address});
  const auto found = std::ranges::find_if(offers, [&](const Offer& offer) {
    // One claim may ask several resources for devices of one group: it is one holder.
    return group.has_value() && offer.group == group;
  });
  if (found != offers.end()) {
    found->ids.insert(address);
    return;
  }
  offers.push_back({resource,
                    allocationOf(state, resource),
                    group,
                    {address},
                    groupMembers(state.hardware.snapshot, address),
                    {},
                    set});
}

/// Whoever asks has as many entries as `more` says: an answer names no other number of devices.
std::optional<Bar> barOfSize(const LedgerState& state, const Offer& offer) {
  if (!offer.allocation.more) return std::nullopt;
  std::size_t devices = 0;
  if (offer.set.empty()) {
    // Two ids of one group have its further devices in common.
    for (const UnitId& id : offer.ids) {
      devices += unitOfId(state.hardware, state.catalog, offer.resource, id).size();
    }
  } else {
    devices = unitsOfSet(state, offer.resource, offer.set).size();
  }
  const auto bar = barOfSize(offer.allocation, devices);
  return bar ? std::optional(Bar{bar->reason, bar->text}) : std::nullopt;
}

void judgeAll(std::vector<Offer>& offers, const LedgerState& state) {
  for (Offer& offer : offers) {
    auto bar = barOfLeftOut(state, offer.ids, offer.set);
    if (!bar) bar = barOfSize(state, offer);
    if (bar) {
      offer.readiness = {Readiness::kBad, *bar};
      continue;
    }
    const auto devices = handedOver(state.hardware, state.catalog, offer.resource, offer.ids);
    offer.readiness = judgeReadiness(state.hardware, offer.resource, devices, offer.allocation);
  }
}

Refusal refuseTwoSets(const LedgerState& state, const UnitId& shared) {
  return refuse({shared, groupNumber(state, {shared})},
                "is in two of the sets that are asked for at once: ask for one set a container",
                "sets-overlap");
}

Refusal refuseNotServed(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const bool configured = state.catalog.resources.contains(resource);
  return refuse({id, groupNumber(state, {id})},
                configured ? resource.str() + " is allocated through the device plugin only"
                           : resource.str() + " is not configured any more",
                "not-served");
}

/// The resource has it now, as the claim asked for it when it came.
bool hasStill(const LedgerState& state, const PrepareRequest& request, const ResourceName& resource,
              const UnitId& id) {
  const auto set = request.sets.find(id);
  if (set != request.sets.end()) return isInSet(state.catalog, resource, set->second, id);
  return !hasSets(state.catalog, resource) && hasDevice(state.catalog, resource, id);
}

}  // namespace

std::optional<Bar> barOfLeftOut(const LedgerState& state, const std::set<UnitId>& ids,
                                const std::string& set) {
  for (const UnitId& id : ids) {
    const auto found = state.catalog.leftOut.find(id);
    if (found == state.catalog.leftOut.end()) continue;
    const auto& [reason, text] = found->second;
    const bool barred = set.empty() ? reason == kExcluded || reason == kSerialUnknown
                                    : !isOnlyUnselected(found->second);
    if (barred) return Bar{reason, text};
  }
  return std::nullopt;
}

std::optional<Refusal> refuseMoved(const LedgerState& state, const PrepareRequest& request,
                                   const std::set<UnitId>& ids) {
  for (const auto& [resource, devices] : request.devices) {
    for (const UnitId& id : devices) {
      const bool asked = ids.contains(id) && isPresent(state.hardware.snapshot, id);
      if (!asked || hasStill(state, request, resource, id)) continue;
      const auto why = state.catalog.leftOut.find(id);
      return refuse({id, groupNumber(state, {id})},
                    "is not in " + resource.str() + " any more" +
                        (why == state.catalog.leftOut.end() ? "" : ": " + why->second.text),
                    "not-served");
    }
  }
  return std::nullopt;
}

AllocationSettings allocationOf(const LedgerState& state, const ResourceName& resource) {
  const auto found = state.catalog.resources.find(resource);
  return found == state.catalog.resources.end() ? AllocationSettings{} : found->second.allocation;
}

std::set<UnitId> unitOfId(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                          const ResourceName& resource, const UnitId& id) {
  std::set<UnitId> unit{id};
  const auto found = catalog.resources.find(resource);
  const bool whole =
      found != catalog.resources.end() && found->second.allocation.groupUnit == GroupUnit::kWhole;
  if (!whole) return unit;
  for (const UnitId& member : groupMembers(hardware.snapshot, id)) {
    if (std::ranges::binary_search(found->second.devices, member)) unit.insert(member);
  }
  return unit;
}

std::set<UnitId> handedOver(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                            const ResourceName& resource, const std::set<UnitId>& ids) {
  const auto found = catalog.resources.find(resource);
  if (found == catalog.resources.end()) return ids;
  const bool whole = found->second.allocation.groupUnit == GroupUnit::kWhole;
  if (!whole && catalog.tickets.empty()) return ids;
  std::set<UnitId> all = ids;
  for (const UnitId& id : ids) {
    if (whole) all.merge(unitOfId(hardware, catalog, resource, id));
    if (catalog.tickets.empty()) continue;
    for (const UnitId& member : groupMembers(hardware.snapshot, id)) {
      const auto ticket = catalog.tickets.find(member);
      const bool attached = ticket != catalog.tickets.end() && ticket->second.card == id &&
                            mayAttach(found->second.allocation);
      if (attached) all.insert(member);
    }
  }
  return all;
}

Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const AllocateRequest& request) {
  if (request.ids.empty()) return Failure{refuseNotShown("", request.resource)};
  std::vector<Offer> offers;
  if (const auto shared = sharedUnit(state, request.resource, request.ids)) {
    return Failure{refuseTwoSets(state, *shared)};
  }
  for (const std::string& id : request.ids) {  // row 3
    if (isSetId(id)) {
      const std::set<UnitId> units = unitsOfSet(state, request.resource, id);
      if (units.empty() || !wasShown(request.shown, id)) {
        return Failure{refuseNotShown(id, request.resource)};
      }
      for (const UnitId& unit : units) addTo(offers, state, request.resource, unit, id);
      continue;
    }
    const auto address = UnitId::parse(id);
    if (!address || !wasShown(request.shown, id)) {
      return Failure{refuseNotShown(id, request.resource)};
    }
    const bool present = isPresent(state.hardware.snapshot, *address);
    if (present && !knows(state, request.resource, *address)) {
      return Failure{refuseNotShown(id, request.resource)};
    }
    addTo(offers, state, request.resource, *address);
  }
  judgeAll(offers, state);
  return offers;
}

Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const PrepareRequest& request) {
  std::vector<Offer> offers;
  for (const auto& [resource, ids] : request.devices) {
    for (const UnitId& id : ids) {
      if (!servedByDra(state.catalog, resource)) {
        return Failure{refuseNotServed(state, resource, id)};
      }
      if (const auto moved = refuseMoved(state, request, {id})) return Failure{*moved};
      const auto set = request.sets.find(id);
      addTo(offers, state, resource, id, set == request.sets.end() ? std::string() : set->second);
    }
  }
  if (offers.empty()) {
    return Failure{Refusal{"not-served", "the claim: none of its devices is ours, not-served"}};
  }
  for (Offer& offer : offers) {
    const auto bar = barOfLeftOut(state, offer.ids, offer.set);
    offer.readiness = bar ? GroupReadiness{Readiness::kBad, *bar}
                          : judgeForClaim(state.hardware, state.catalog, request, offer.ids);
  }
  return offers;
}

}  // namespace vfiogate
