#include "plugind/core/dra/claim_request.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "plugind/core/dra/device_attributes.h"

namespace vfiogate {
namespace {

/// One device of a claim may be named once by each request, and once as each share of it.
using NamedBy = std::tuple<std::string, std::string, std::optional<std::string>>;

std::string deviceText(const AllocatedDevice& device) {
  return "device " + quoteForeign(device.device) + " of request " + quoteForeign(device.request);
}

/// Under which the claim has it, or may get it. Null: no resource has it.
std::optional<ResourceName> resourceFor(const LedgerState& state, const std::string& claimUid,
                                        const UnitId& address) {
  // What was prepared stays so, whatever becomes of the configuration.
  for (const HolderRecord& record : state.records) {
    const bool mine = record.claim && record.claim->uid == claimUid;
    if (mine && record.ids.contains(address)) return record.resource;
  }
  const auto resource = resourceOf(state.catalog, address);
  return resource && !hasSets(state.catalog, *resource) ? resource : std::nullopt;
}

/// What a device of a claim stands for: one unit, or those of a set.
struct Named {
  ResourceName resource;
  std::set<UnitId> units;
};

std::optional<Named> unitFor(const LedgerState& state, const std::string& claimUid,
                             const UnitId& address) {
  const auto resource = resourceFor(state, claimUid, address);
  return resource ? std::optional(Named{*resource, {address}}) : std::nullopt;
}

/// The same for a set.
std::optional<Named> setFor(const LedgerState& state, const std::string& claimUid,
                            const std::string& id) {
  std::optional<Named> prepared;
  for (const HolderRecord& record : state.records) {
    if (!record.claim || record.claim->uid != claimUid || record.set != id) continue;
    if (!prepared) prepared = Named{record.resource, {}};
    prepared->units.insert(record.ids.begin(), record.ids.end());
  }
  if (prepared) return prepared;
  for (const auto& [name, resource] : state.catalog.resources) {
    const auto set = resource.sets.find(id);
    if (set != resource.sets.end()) return Named{name, set->second};
  }
  return std::nullopt;
}

/// Why the claim as such cannot be prepared. Null: it can.
std::optional<std::string> refuseClaim(const ClaimName& asked, const AllocatedClaim& claim,
                                       const Settings& settings) {
  if (claim.uid != asked.uid) {
    return "the claim was made anew: its UID is " + quoteForeign(claim.uid) + ", asked for was " +
           quoteForeign(asked.uid) + "; delete the pod that used the old one";
  }
  if (!claim.allocated) return "the claim is not allocated: the scheduler gave it no device yet";
  if (claim.devices.empty()) {
    return "the claim has no device of " + settings.dra.driver + " in its allocation";
  }
  return std::nullopt;
}

/// Why one of its devices cannot, before it is looked for on this node.
std::optional<std::string> refuseDevice(const AllocatedDevice& device,
                                        const std::string& poolName) {
  if (device.pool != poolName) {
    return "is of pool " + quoteForeign(device.pool) + ", and this node's is " +
           quoteForeign(poolName);
  }
  if (device.adminAccess) {
    return "is asked for with adminAccess, which is never given: somebody else holds it, and a "
           "VFIO device cannot be watched while it is used";
  }
  if (!device.badParameters.empty()) {
    return "has a configuration that cannot be used: " + device.badParameters;
  }
  if (!deviceAddress(device.device) && !setInDeviceName(device.device)) {
    return "has no name that this driver gives: wanted is one such as 0000-17-00-0";
  }
  return std::nullopt;
}

std::string refuseUnknown(const LedgerState& state, const UnitId& address) {
  if (inAnySet(state.catalog, {address})) return "is allocated with its set only";
  if (!isPresent(state.hardware.snapshot, address)) {
    return "is gone: there is no such device on this node any more";
  }
  const auto leftOut = state.catalog.leftOut.find(address);
  return "falls into no resource: " +
         (leftOut == state.catalog.leftOut.end() ? "unknown" : leftOut->second.text);
}

}  // namespace

std::string requestName(const std::string& request) {
  return request.substr(0, request.find('/'));
}

Result<PrepareRequest, std::string> requestOf(const ClaimName& asked, const AllocatedClaim& claim,
                                              const Settings& settings, const LedgerState& state,
                                              const std::string& poolName) {
  if (auto why = refuseClaim(asked, claim, settings)) return Failure{*std::move(why)};
  PrepareRequest request{.claim = asked, .devices = {}, .parameters = {}};
  std::set<NamedBy> named;
  for (const AllocatedDevice& device : claim.devices) {
    const auto fail = [&device](const std::string& why) {
      return Failure{deviceText(device) + " " + why};
    };
    if (const auto why = refuseDevice(device, poolName)) return fail(*why);
    if (!named.emplace(requestName(device.request), device.device, device.shareId).second) {
      return fail("is named twice by the claim's allocation");
    }
    const auto set = setInDeviceName(device.device);
    const auto stands = set ? setFor(state, asked.uid, *set)
                            : unitFor(state, asked.uid, *deviceAddress(device.device));
    if (!stands) {
      return fail(set ? "is no set that is configured on this node"
                      : refuseUnknown(state, *deviceAddress(device.device)));
    }
    for (const UnitId& unit : stands->units) {
      const bool again = !request.devices[stands->resource].insert(unit).second;
      if (set) request.sets.insert_or_assign(unit, *set);
      const auto known = request.parameters.find(unit);
      const DeviceParameters before =
          known == request.parameters.end() ? DeviceParameters{} : known->second;
      if (again && before != device.parameters) {
        return fail("has another configuration than in an earlier request of the claim");
      }
      if (device.parameters != DeviceParameters{}) {
        request.parameters.insert_or_assign(unit, device.parameters);
      }
    }
  }
  return request;
}

std::vector<PreparedDevice> preparedDevices(const AllocatedClaim& claim,
                                            const std::map<UnitId, std::string>& cdiNames,
                                            const std::map<UnitId, std::string>& sets) {
  std::vector<PreparedDevice> prepared;
  for (const AllocatedDevice& device : claim.devices) {
    const auto same = std::ranges::find_if(prepared, [&device](const PreparedDevice& other) {
      return other.device == device.device && other.shareId == device.shareId;
    });
    if (same != prepared.end()) {
      same->requestNames.push_back(requestName(device.request));
      continue;
    }
    PreparedDevice one{.requestNames = {requestName(device.request)},
                       .pool = device.pool,
                       .device = device.device,
                       .cdiNames = {},
                       .shareId = device.shareId};
    const auto address = deviceAddress(device.device);
    const auto name = address ? cdiNames.find(*address) : cdiNames.end();
    if (name != cdiNames.end()) one.cdiNames.push_back(name->second);
    const auto set = setInDeviceName(device.device);
    for (const auto& [unit, cdiName] : cdiNames) {
      const auto of = sets.find(unit);
      if (set && of != sets.end() && of->second == *set) one.cdiNames.push_back(cdiName);
    }
    prepared.push_back(std::move(one));
  }
  return prepared;
}

std::vector<ReportedDevice> reportedDevices(const AllocatedClaim& claim) {
  std::vector<ReportedDevice> reported;
  for (const PreparedDevice& device : preparedDevices(claim, {})) {
    const auto address = deviceAddress(device.device);
    reported.push_back({.pool = device.pool,
                        .device = device.device,
                        .shareId = device.shareId,
                        .ready = true,
                        .reason = "Prepared",
                        .message = "handed over to the claim's containers",
                        .address = address ? address->str() : ""});
  }
  return reported;
}

std::vector<ReportedDevice> heldDevices(const AllocatedClaim& claim, const std::string& why) {
  std::vector<ReportedDevice> held = reportedDevices(claim);
  for (ReportedDevice& device : held) {
    device.ready = false;
    device.reason = "NotReleased";
    device.message = why;
  }
  return held;
}

}  // namespace vfiogate
