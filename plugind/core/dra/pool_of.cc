#include "plugind/core/dra/pool_of.h"

#include <algorithm>

#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/ledger/frames/frames.h"

namespace vfiogate {
namespace {

/// What is in the pool, and as a device of which resource.
using Published = std::map<UnitId, ResourceName>;

Published publishedIn(const LedgerState& state) {
  Published published;
  // What claims hold comes first: it is published under the name by which they have it.
  for (const HolderRecord& record : state.records) {
    for (const UnitId& id : record.ids) {
      const bool vanished = !isPresent(state.hardware.snapshot, id);
      const bool ours = servedByDra(state.catalog, record.resource);
      if (!record.isClaim() && !(vanished && ours)) continue;
      published.emplace(id, resourceOf(state.catalog, id).value_or(record.resource));
    }
  }
  for (const auto& [name, resource] : state.catalog.resources) {
    if (!servesDra(resource.allocation)) continue;
    if (resource.allocation.groupUnit == GroupUnit::kWhole) {
      for (const UnitId& unit : draUnitsOf(state, name)) published.emplace(unit, name);
      continue;
    }
    for (const UnitId& id : resource.devices) published.emplace(id, name);
  }
  return published;
}

/// The group whose counter it consumes: its own, or the one that it was allocated in.
std::optional<IommuGroupId> countedGroup(const LedgerState& state, const UnitId& address) {
  if (const auto group = groupNumber(state, {address})) return group;
  for (const HolderRecord& record : state.records) {
    if (record.members.contains(address)) return groupNumber(state, record.members);
  }
  return std::nullopt;
}

CounterName counterOf(IommuGroupId group) {
  constexpr std::uint32_t kCountersInSet = 32;  // the API's limit
  return {.set = "groups-" + std::to_string(group.number() / kCountersInSet),
          .counter = "group-" + std::to_string(group.number())};
}

/// For a server that keeps no counters: nothing else would keep two claims from one group.
void leaveOneOfEach(const LedgerState& state, Published& published) {
  std::set<UnitId> held;
  for (const HolderRecord& record : state.records) {
    if (record.isClaim()) held.insert(record.ids.begin(), record.ids.end());
  }
  std::map<IommuGroupId, UnitId> standing;
  for (const auto& [address, resource] : published) {
    const auto group = countedGroup(state, address);
    if (group && held.contains(address)) standing.insert_or_assign(*group, address);
    if (group) standing.emplace(*group, address);
  }
  std::erase_if(published, [&](const auto& entry) {
    const auto group = countedGroup(state, entry.first);
    return group && !held.contains(entry.first) && standing.at(*group) != entry.first;
  });
}

}  // namespace

DevicePool poolOf(const Settings& settings, const LedgerState& state, const std::string& poolName,
                  const KeptFields& server) {
  DevicePool pool{
      .driver = settings.dra.driver, .name = poolName, .devices = {}, .counterSets = {}};
  Published published = publishedIn(state);
  if (!server.counters) leaveOneOfEach(state, published);
  const Occupancy occupancy = occupancyOf(state);
  for (const auto& [address, resource] : published) {
    const auto unavailable = unavailability(state, occupancy, resource, address);
    if (unavailable && !server.taints && !isHeldByClaim(state, address)) continue;
    PoolDevice device{.attributes = attributesOf(state.hardware.snapshot, address, resource),
                      .consumes = std::nullopt,
                      .taints = {}};
    if (const auto group = countedGroup(state, address); group && server.counters) {
      device.consumes = counterOf(*group);
      pool.counterSets[device.consumes->set].insert(device.consumes->counter);
    }
    if (unavailable) {
      device.taints.push_back(
          {pool.driver + "/unavailable", unavailable->state, unavailable->since});
    }
    pool.devices.emplace(deviceName(address), std::move(device));
  }
  return pool;
}

}  // namespace vfiogate
