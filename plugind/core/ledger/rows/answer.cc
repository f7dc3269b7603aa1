#include "plugind/core/ledger/rows/rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {

HardwareFacts rereadOf(const HardwareFacts& hardware, const Snapshot& seen) {
  HardwareFacts facts{.snapshot = seen,
                      .bindable = {},
                      .binding = {},
                      .stuck = hardware.stuck,
                      .excluded = hardware.excluded,
                      .boundForAllocation = hardware.boundForAllocation,
                      .mayBind = hardware.mayBind,
                      .binderAway = hardware.binderAway,
                      .bootId = hardware.bootId,
                      .serials = hardware.serials,
                      .specs = hardware.specs};
  facts.snapshot.egm = hardware.snapshot.egm;
  facts.snapshot.controlNode = hardware.snapshot.controlNode;
  facts.snapshot.iommufdNode = hardware.snapshot.iommufdNode;
  return facts;
}

void addGroup(HardwareFacts& facts, const Snapshot& seen) {
  facts.snapshot.devices.insert(seen.devices.begin(), seen.devices.end());
  facts.snapshot.mediated.insert(seen.mediated.begin(), seen.mediated.end());
  facts.snapshot.groups.insert(seen.groups.begin(), seen.groups.end());
}

HardwareFacts allReread(const LedgerState& state, const Call& call) {
  HardwareFacts all = rereadOf(state.hardware, call.groups.begin()->second.reading->seen);
  for (const auto& [group, take] : call.groups) addGroup(all, take.reading->seen);
  return all;
}

namespace {

/// Of `ids` and of what is handed over with them.
std::string fingerprintOfAll(const HardwareFacts& hardware, const std::set<UnitId>& ids,
                             const std::set<UnitId>& handed,
                             const std::vector<std::string>& nodes) {
  std::set<UnitId> along;
  std::ranges::set_difference(handed, ids, std::inserter(along, along.end()));
  return allocatedFingerprintOf(hardware, ids, nodes) +
         wentAlong(allocatedFingerprintOf(hardware, along, nodes));
}

/// What a claim is given stands in its spec; here is what the record keeps of it.
Result<AllocationResponse, Bar> answerToClaim(const LedgerState& state, const Call& call) {
  const HardwareFacts all = allReread(state, call);
  auto nodes = nodesForClaim(all, state.catalog, *call.prepare);
  if (!nodes) return Failure{nodes.error()};
  std::set<UnitId> ids;
  std::set<UnitId> handed;
  for (const auto& [resource, devices] : call.prepare->devices) {
    ids.insert(devices.begin(), devices.end());
    handed.merge(handedOver(all, state.catalog, resource, devices));
  }
  AllocationResponse response;
  response.annotations.emplace(kAllocatedAnnotation, fingerprintOfAll(all, ids, handed, *nodes));
  response.nodes = *std::move(nodes);
  return response;
}

/// The companions that go along with `ids`, in the order of these, each under its own resource.
void nameCompanions(const ResourceCatalog& catalog, const std::set<UnitId>& ids,
                    const std::set<UnitId>& along, AllocationResponse& response) {
  for (const UnitId& id : ids) {
    for (const auto& [companion, ticket] : catalog.tickets) {
      if (ticket.card != id || !along.contains(companion)) continue;
      std::string& names =
          response.environment[kubevirtVariable(ticket.resource, DeviceKind::kFunction)];
      names += (names.empty() ? "" : ",") + companion.str();
    }
  }
}

/// Of a resource with `more`: each set that is asked for, or each whole group, with the device by
/// which it is asked for first.
OrderedUnits unitsAsked(const HardwareFacts& all, const LedgerState& state, const Call& call,
                        const ResourceName& resource) {
  std::map<std::string, std::set<UnitId>> sets;
  OrderedUnits units;
  for (const auto& [group, take] : call.groups) {
    if (take.resource != resource) continue;
    if (!take.set.empty()) {
      sets[take.set].insert(take.ids.begin(), take.ids.end());
      continue;
    }
    for (const UnitId& id : take.ids) {
      std::set<UnitId> others = unitOfId(all, state.catalog, resource, id);
      others.erase(id);
      units.push_back({id});
      units.back().insert(units.back().end(), others.begin(), others.end());
    }
  }
  for (const auto& [set, devices] : sets) units.emplace_back(devices.begin(), devices.end());
  std::ranges::sort(units);
  return units;
}

}  // namespace

Result<AllocationResponse, Bar> answerOf(const LedgerState& state, const Call& call) {
  if (call.prepare) return answerToClaim(state, call);
  const HardwareFacts all = allReread(state, call);
  std::map<ResourceName, std::set<UnitId>> asked;
  for (const auto& [group, take] : call.groups) {
    asked[take.resource].insert(take.ids.begin(), take.ids.end());
  }
  AllocationResponse response;
  std::set<UnitId> everything;
  std::set<UnitId> handed;
  for (const auto& [resource, ids] : asked) {
    const AllocationSettings allocation = allocationOf(state, resource);
    const std::set<UnitId> along = handedOver(all, state.catalog, resource, ids);
    const auto part = allocationResponse(all.snapshot, resource, ids, along, allocation,
                                         unitsAsked(all, state, call, resource));
    if (!part) return Failure{part.error()};
    if (needsSpec(allocation)) {
      if (auto bar = barFromSpecs(all, state.catalog, resource, ids)) return Failure{*bar};
    }
    response.cdiDevices.insert(response.cdiDevices.end(), part->cdiDevices.begin(),
                               part->cdiDevices.end());
    for (const std::string& node : part->nodes) {
      const bool known = std::ranges::find(response.nodes, node) != response.nodes.end();
      if (!known) response.nodes.push_back(node);
    }
    response.environment.insert(part->environment.begin(), part->environment.end());
    if (response.mounts.empty()) response.mounts = part->mounts;
    nameCompanions(state.catalog, ids, along, response);
    everything.insert(ids.begin(), ids.end());
    handed.insert(along.begin(), along.end());
  }
  for (std::string& node : pathsOf(egmNodes(all.snapshot.egm, handed))) {
    response.nodes.push_back(std::move(node));
  }
  const std::string allocated = fingerprintOfAll(all, everything, handed, response.nodes);
  response.annotations.emplace(kAllocatedAnnotation,
                               response.cdiDevices.empty() ? allocated : byName(allocated));
  return response;
}

std::optional<Bar> barFromSpecs(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                                const ResourceName& resource, const std::set<UnitId>& ids) {
  const auto found = catalog.resources.find(resource);
  const Backend backend =
      found == catalog.resources.end() ? Backend::kAuto : found->second.allocation.backend;
  for (const UnitId& id : ids) {
    const auto nodes =
        deviceNodes(hardware.snapshot, handedOver(hardware, catalog, resource, {id}), backend);
    if (!nodes) return nodes.error();
    if (auto bar = barFromSpec(hardware.specs, resource, id, *nodes)) return bar;
  }
  return std::nullopt;
}

}  // namespace vfiogate
