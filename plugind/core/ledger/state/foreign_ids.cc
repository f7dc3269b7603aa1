#include "plugind/core/ledger/state/foreign_ids.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource/more_tickets.h"

namespace vfiogate {
namespace {

std::optional<IommuGroupId> groupIn(const std::string& id) {
  std::uint32_t number = 0;
  const char* end = id.data() + id.size();
  const auto read = std::from_chars(id.data(), end, number);
  if (id.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return IommuGroupId(number);
}

/// Whatever a resource had since it has such ids: a reload may give it to another one.
std::set<UnitId> devicesSince(const LedgerState& state, const ResourceName& resource) {
  std::set<UnitId> devices;
  const auto before = state.suspected.find(resource);
  if (before != state.suspected.end()) devices = before->second;
  const auto configured = state.catalog.resources.find(resource);
  if (configured != state.catalog.resources.end()) {
    devices.insert(configured->second.devices.begin(), configured->second.devices.end());
  }
  return devices;
}

bool standsForNothing(const LedgerState& state, const ResourceName& resource,
                      const std::string& id) {
  return !unitNamed(state, id) && devicesNamedBy(state, resource, id).empty();
}

ForeignIds foreignIdsIn(const LedgerState& state, const CheckpointVersion& version, bool own) {
  ForeignIds found;
  const std::uint64_t epoch = state.epoch - (own ? 0 : 1);
  for (const RecordedDevices& entry : version.entries) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource || !isServed(state, *resource)) continue;
    for (const std::string& id : entry.ids) {
      if (isTicket(id)) continue;  // nobody has a device by it
      if (isSetId(id) && !setsIn(state, entry).empty()) continue;
      if (standsForNothing(state, *resource, id)) found[*resource][id] = {epoch, std::nullopt};
    }
  }
  return found;
}

/// Of an id that the version has not, or that stands for something by now: whoever has it may live
/// (F-C, F-E).
bool mayStillStand(const Turn& turn, const ResourceName& resource, const std::string& id,
                   ForeignId& known, const CheckpointVersion& version, bool own) {
  const LedgerState& state = turn.state;
  if (!standsForNothing(state, resource, id) || !setsNamed(state, resource, {id}).empty()) {
    return false;
  }
  if (!own) return true;
  if (known.epoch == state.epoch) return version.written < state.version->written;
  if (known.epoch + 1 == state.epoch && state.inheritedGoesOn) return false;
  if (!known.missedSince) known.missedSince = turn.now.instant;
  return turn.now.instant - *known.missedSince < timing::kNamelessLetGo;
}

void tellForeignIds(Turn& turn, const ForeignIds& before) {
  const auto tell = [&turn](const char* name, const ForeignIds::value_type& resource) {
    JournalEvent event{.event = name, .time = turn.now.seconds(), .resource = resource.first};
    event.reason = name;
    for (const auto& [id, known] : resource.second) event.foreignIds.push_back(id);
    turn.out.journal.push_back(std::move(event));
  };
  const auto sameIds = [](const auto& one, const auto& other) {
    const auto idOf = [](const auto& entry) -> const std::string& { return entry.first; };
    return std::ranges::equal(one, other, {}, idOf, idOf);
  };
  const auto& now = turn.state.foreignIds;
  for (const auto& resource : now) {
    const auto known = before.find(resource.first);
    const bool same = known != before.end() && sameIds(known->second, resource.second);
    if (!same) tell("foreign-ids", resource);
  }
  for (const auto& resource : before) {
    if (!now.contains(resource.first)) tell("foreign-ids-gone", resource);
  }
}

}  // namespace

bool isServed(const LedgerState& state, const ResourceName& resource) {
  return configures(state.catalog, resource) || state.shown.contains(resource) ||
         state.suspected.contains(resource);
}

std::optional<UnitId> unitNamed(const LedgerState& state, const std::string& id) {
  const auto unit = UnitId::parse(id);
  if (!unit) return std::nullopt;
  const bool known = unit->address() != nullptr || isPresent(state.hardware.snapshot, *unit) ||
                     !recordsMeeting(state, {*unit}).empty();
  return known ? std::optional(*unit) : std::nullopt;
}

bool mayNameOurs(const LedgerState& state, const std::string& resource, const std::string& id) {
  if (isSetId(id)) return true;
  const auto unit = UnitId::parse(id);
  if (unit && isPresent(state.hardware.snapshot, *unit)) return true;
  const bool address = unit && unit->address() != nullptr;
  const auto name = ResourceName::parse(resource);
  return !address && !isTicket(id) && name && isServed(state, *name);
}

std::set<UnitId> devicesNamedBy(const LedgerState& state, const ResourceName& resource,
                                const std::string& id) {
  const auto number = groupIn(id);
  if (!number) return {};
  const std::set<UnitId> members = unitsOf(state.hardware.snapshot, *number);
  if (members.empty()) return {};
  const auto configured = state.catalog.resources.find(resource);
  std::set<UnitId> devices;
  if (configured != state.catalog.resources.end()) {
    std::ranges::set_intersection(members, configured->second.devices,
                                  std::inserter(devices, devices.end()));
  }
  return devices.empty() ? members : devices;
}

void noteForeignIds(Turn& turn, const CheckpointVersion& version, bool own) {
  LedgerState& state = turn.state;
  ForeignIds found = foreignIdsIn(state, version, own);
  for (auto& [resource, ids] : state.foreignIds) {
    for (auto& [id, known] : ids) {
      if (!mayStillStand(turn, resource, id, known, version, own)) continue;
      const auto [entry, fresh] = found[resource].try_emplace(id, known);
      if (!fresh && known.epoch == state.epoch) entry->second = known;
    }
  }
  const auto before = std::exchange(state.foreignIds, std::move(found));
  std::map<ResourceName, std::set<UnitId>> suspected;
  for (const auto& [resource, ids] : state.foreignIds) {
    suspected.emplace(resource, devicesSince(state, resource));
  }
  state.suspected = std::move(suspected);
  tellForeignIds(turn, before);
}

const ResourceName* suspectedIn(const LedgerState& state, const std::set<UnitId>& members) {
  for (const auto& [resource, devices] : state.suspected) {
    if (meet(devices, members)) return &resource;
  }
  return nullptr;
}

std::string suspicionText(const LedgerState& state, const ResourceName& resource) {
  const auto found = state.foreignIds.find(resource);
  if (found == state.foreignIds.end()) {
    return "a plugind before this one saw an id allocated as " + resource.str() +
           " that is no device known here, and the kubelet's checkpoint was not read since";
  }
  const auto& [id, known] = *found->second.begin();
  const std::string what =
      quoteForeign(id) + " allocated as " + resource.str() + ", which is no device known here: ";
  if (known.missedSince) {
    return "a kubelet before this one had " + what +
           "its pod may run still, so nothing of it is free for sure for 10 minutes";
  }
  return "the kubelet has " + what + "nothing of it is free for sure until that pod ends";
}

}  // namespace vfiogate
