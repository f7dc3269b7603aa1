#include "plugind/core/dra/pool_of.h"

#include <algorithm>

#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/ledger/frames/frames.h"

namespace vfiogate {
namespace {

/// What is in the pool, and as a device of which resource.
using Published = std::map<UnitId, ResourceName>;

/// A set that is in the pool.
struct PublishedSet {
  ResourceName resource;
  std::set<UnitId> units;
};
using PublishedSets = std::map<std::string, PublishedSet>;  // by id

Published publishedIn(const LedgerState& state) {
  Published published;
  // What claims hold comes first: it is published under the name by which they have it.
  for (const HolderRecord& record : state.records) {
    if (!record.set.empty() || hasSets(state.catalog, record.resource)) continue;  // as a set
    for (const UnitId& id : record.ids) {
      const bool vanished = !isPresent(state.hardware.snapshot, id);
      const bool ours = servedByDra(state.catalog, record.resource);
      if (!record.isClaim() && !(vanished && ours)) continue;
      published.emplace(id, resourceOf(state.catalog, id).value_or(record.resource));
    }
  }
  for (const auto& [name, resource] : state.catalog.resources) {
    if (!servesDra(resource.allocation) || !resource.sets.empty()) continue;
    if (resource.allocation.groupUnit == GroupUnit::kWhole) {
      for (const UnitId& unit : draUnitsOf(state, name)) published.emplace(unit, name);
      continue;
    }
    for (const UnitId& id : resource.devices) published.emplace(id, name);
  }
  return published;
}

PublishedSets setsIn(const LedgerState& state) {
  PublishedSets sets;
  for (const auto& [name, resource] : state.catalog.resources) {
    if (!servesDra(resource.allocation)) continue;
    for (const auto& [id, units] : resource.sets) sets.emplace(id, PublishedSet{name, units});
  }
  std::set<std::string> configured;
  for (const auto& [id, set] : sets) configured.insert(id);
  for (const HolderRecord& record : state.records) {  // what a claim has stays
    if (!record.isClaim() || record.set.empty() || configured.contains(record.set)) continue;
    PublishedSet& set =
        sets.try_emplace(record.set, PublishedSet{record.resource, {}}).first->second;
    set.units.insert(record.ids.begin(), record.ids.end());
  }
  return sets;
}

/// The group whose counter it consumes: its own, or the one that it was allocated in.
std::optional<IommuGroupId> countedGroup(const LedgerState& state, const UnitId& address) {
  if (const auto group = groupNumber(state, {address})) return group;
  for (const HolderRecord& record : state.records) {
    if (record.members.contains(address)) return groupNumber(state, record.members);
  }
  return std::nullopt;
}

/// Which counter stands for each group. Those of sets are together: a device may consume counters
/// of two counter sets at most.
class Counters {
public:
  Counters(const LedgerState& state, const PublishedSets& sets) {
    std::set<IommuGroupId> groups;
    for (const auto& [id, set] : sets) {
      for (const UnitId& unit : set.units) {
        if (const auto group = countedGroup(state, unit)) groups.insert(*group);
      }
    }
    for (const IommuGroupId group : groups) {
      ofSets_.emplace(group, "sets-" + std::to_string(ofSets_.size() / kCountersInSet));
    }
  }

  CounterName of(IommuGroupId group) const {
    const auto found = ofSets_.find(group);
    return {.set = found == ofSets_.end()
                       ? "groups-" + std::to_string(group.number() / kCountersInSet)
                       : found->second,
            .counter = "group-" + std::to_string(group.number())};
  }

private:
  static constexpr std::uint32_t kCountersInSet = 32;  // the API's limit
  std::map<IommuGroupId, std::string> ofSets_;
};

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

/// What keeps a set from claims: the first of its units that is kept.
std::optional<Unavailable> unavailabilityOfSet(const LedgerState& state, const Occupancy& occupancy,
                                               const PublishedSet& set) {
  for (const UnitId& unit : set.units) {
    const auto leftOut = state.catalog.leftOut.find(unit);
    if (leftOut != state.catalog.leftOut.end()) return Unavailable{leftOut->second.reason, {}};
    if (auto why = unavailability(state, occupancy, set.resource, unit)) return why;
  }
  return std::nullopt;
}

/// For a server that keeps no counters: sets that meet nothing else in the pool, or are held.
void leaveApart(const LedgerState& state, const Published& published, PublishedSets& sets) {
  std::set<UnitId> taken;
  for (const auto& [address, resource] : published) taken.merge(reachOf(state, {address}));
  for (const HolderRecord& record : state.records) {
    if (record.isClaim()) taken.insert(record.members.begin(), record.members.end());
  }
  std::erase_if(sets, [&](const auto& entry) {
    const std::set<UnitId> reach = reachOf(state, entry.second.units);
    const bool held = std::ranges::any_of(state.records, [&entry](const HolderRecord& record) {
      return record.isClaim() && record.set == entry.first;
    });
    const bool meets =
        std::ranges::any_of(reach, [&taken](const UnitId& unit) { return taken.contains(unit); });
    if (!held && meets) return true;
    taken.insert(reach.begin(), reach.end());
    return false;
  });
}

/// Puts one device into the pool, with the counters of its groups.
class Publisher {
public:
  Publisher(const LedgerState& state, const KeptFields& server, const PublishedSets& sets,
            DevicePool& pool)
      : state_(state), server_(server), counters_(state, sets), pool_(pool) {}

  void add(const std::string& name, std::map<std::string, AttributeValue> attributes,
           const std::set<UnitId>& units, const std::optional<Unavailable>& unavailable) {
    const bool held = std::ranges::any_of(
        units, [this](const UnitId& unit) { return isHeldByClaim(state_, unit); });
    if (unavailable && !server_.taints && !held) return;
    PoolDevice device{.attributes = std::move(attributes), .consumes = {}, .taints = {}};
    for (const UnitId& unit : units) {
      const auto group = countedGroup(state_, unit);
      if (!group || !server_.counters) continue;
      const CounterName counter = counters_.of(*group);
      pool_.counterSets[counter.set].insert(counter.counter);
      device.consumes.insert(counter);
    }
    if (unavailable) {
      device.taints.push_back(
          {pool_.driver + "/unavailable", unavailable->state, unavailable->since});
    }
    pool_.devices.emplace(name, std::move(device));
  }

private:
  const LedgerState& state_;
  const KeptFields& server_;
  Counters counters_;
  DevicePool& pool_;
};

}  // namespace

DevicePool poolOf(const Settings& settings, const LedgerState& state, const std::string& poolName,
                  const KeptFields& server) {
  DevicePool pool{
      .driver = settings.dra.driver, .name = poolName, .devices = {}, .counterSets = {}};
  Published published = publishedIn(state);
  PublishedSets sets = setsIn(state);
  if (!server.counters) {
    leaveOneOfEach(state, published);
    leaveApart(state, published, sets);
  }
  const Occupancy occupancy = occupancyOf(state);
  const Snapshot& snapshot = state.hardware.snapshot;
  Publisher publisher(state, server, sets, pool);
  for (const auto& [address, resource] : published) {
    publisher.add(deviceName(address), attributesOf(snapshot, address, resource), {address},
                  unavailability(state, occupancy, resource, address));
  }
  for (const auto& [id, set] : sets) {
    publisher.add(setDeviceName(id), attributesOfSet(snapshot, id, set.units, set.resource),
                  set.units, unavailabilityOfSet(state, occupancy, set));
  }
  return pool;
}

}  // namespace vfiogate
