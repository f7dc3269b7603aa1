// What must hold of the pool that claims are allocated from, after every step.

#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/dra/pool_of.h"
#include "plugind/core/ledger/ledger_view.h"
#include "tests/property/ledger_world.h"

namespace vfiogate::test {
namespace {

constexpr std::size_t kMostAttributes = 32;  // all of the API
constexpr std::size_t kLongestText = 64;
constexpr std::size_t kMostCounters = 32;

std::set<UnitId> unitsOfDevice(const std::string& name) {
  if (const auto set = setInDeviceName(name)) return unitsNamed(*set);
  return {*deviceAddress(name)};
}

/// The groups of sets are counted together.
CounterName counterOf(IommuGroupId group) {
  const std::string counter = "group-" + std::to_string(group.number());
  if (group.number() >= 31 && group.number() <= 33) return {"sets-0", counter};
  return {group.number() < kMostCounters ? "groups-0" : "groups-1", counter};
}

bool isTainted(const PoolDevice& device) {
  return !device.taints.empty();
}

}  // namespace

void LedgerWorld::checkPool() {
  if (!ledger_.begun()) return;
  const DevicePool pool = poolOf(settings_, ledger_.state(), "node", {});
  checkForm(pool);
  checkOffer(pool);
  const KeptFields noCounters{.counters = false, .taints = true};
  checkAlone(poolOf(settings_, ledger_.state(), "node", noCounters));
}

/// The limits of the API, and one counter a group.
void LedgerWorld::checkForm(const DevicePool& pool) {
  for (const auto& [name, device] : pool.devices) {
    if (!deviceAddress(name) && !setInDeviceName(name)) fail("form: the name " + name);
    if (device.attributes.size() > kMostAttributes) fail("form: too many attributes");
    for (const auto& [key, value] : device.attributes) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && text->size() > kLongestText) fail("form: long " + key);
    }
    std::set<CounterName> want;
    for (const UnitId& one : unitsOfDevice(name)) {
      // Gone, and its holder is not yet.
      if (const auto group = groupOf(hardware_.snapshot(), one)) want.insert(counterOf(*group));
    }
    if (want.empty()) continue;
    if (device.consumes != want) {
      fail("T39: " + name + " does not consume the counters of its groups");
      continue;
    }
    for (const CounterName& counter : want) {
      const auto set = pool.counterSets.find(counter.set);
      const bool there = set != pool.counterSets.end() && set->second.contains(counter.counter);
      if (!there) fail("form: " + counter.counter + " is in no set");
    }
  }
  for (const auto& [name, counters] : pool.counterSets) {
    if (counters.size() > kMostCounters) fail("form: too many counters in " + name);
  }
}

/// I5, T39: nothing that claims hold is hidden, nothing that they cannot have is offered.
void LedgerWorld::checkOffer(const DevicePool& pool) {
  std::map<IommuGroupId, int> claims;
  for (const Claim& claim : claims_) {
    if (!claim.prepared) continue;
    ++claims[*groupOf(hardware_.snapshot(), claim.device)];
    if (!pool.devices.contains(deviceName(claim.device))) {
      fail("T39: " + claim.device.str() + " is held by " + claim.uid + " and not published");
    }
  }
  std::set<UnitId> forPods;
  for (const HolderRecord& record : ledger_.state().records) {
    if (!record.isClaim()) forPods.insert(record.members.begin(), record.members.end());
  }
  for (const auto& [address, device] : hardware_.snapshot().devices) {
    if (address == at(kCard) || address == at(kSound)) continue;  // for pods alone
    const auto published = pool.devices.find(deviceName(address));
    if (published == pool.devices.end()) {
      fail("I5: " + address.str() + " is not published");
      continue;
    }
    const Holding holding = ledger_.holding(address);
    const bool claimed = claims.contains(*device.group);
    const bool barred = forPods.contains(address) || holding == Holding::kLingering ||
                        holding == Holding::kForeign || holding == Holding::kReturning;
    if (barred && !isTainted(published->second)) {
      fail("I5: " + address.str() + " is offered to claims and " + std::string(nameOf(holding)));
    }
    const bool own = claimed && holding == Holding::kAllocated && !barred;
    if (own && isTainted(published->second)) {
      fail("I5: " + address.str() + " is held by a claim and tainted " +
           published->second.taints.front().value);
    }
    const Holding ofPf =
        device.physicalFunction ? ledger_.holding(*device.physicalFunction) : Holding::kFree;
    const bool pfAllocated =
        isHeld(ofPf) || ofPf == Holding::kTaking || ofPf == Holding::kLingering;
    const bool apart = pfAllocated || device.virtualFunctions > 0;
    if (apart && privd_ && holding == Holding::kFree && !isTainted(published->second)) {
      fail("I5: " + address.str() + " is offered to claims beside what it belongs to");
    }
    const bool idle = !apart && holding == Holding::kFree && privd_ && ledger_.begun() &&
                      offersVfio(ledger_.state().hardware.snapshot.devices.at(address)) &&
                      !ledger_.state().hardware.binding.contains(*device.group);
    const bool rests =
        isTainted(published->second) && (published->second.taints.front().value == "bind-failed" ||
                                         published->second.taints.front().value == "flapping");
    if (idle && isTainted(published->second) && !rests) {
      fail("I5: " + address.str() + " is free and tainted " +
           published->second.taints.front().value);
    }
  }
}

/// Without counters nothing but this keeps two claims from one group.
void LedgerWorld::checkAlone(const DevicePool& pool) {
  std::map<IommuGroupId, std::set<std::string>> named;
  for (const auto& [name, device] : pool.devices) {
    for (const UnitId& one : unitsOfDevice(name)) {
      if (const auto group = groupOf(hardware_.snapshot(), one)) named[*group].insert(name);
    }
  }
  for (const auto& [group, names] : named) {
    if (names.size() > 1) fail("I1: two devices of one group are offered without counters");
  }
}

}  // namespace vfiogate::test
