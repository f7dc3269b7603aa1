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

}  // namespace

bool isServed(const LedgerState& state, const ResourceName& resource) {
  return configures(state.catalog, resource) || state.shown.contains(resource) ||
         state.foreignIds.contains(resource);
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

void noteForeignIds(Turn& turn, const CheckpointVersion& version) {
  LedgerState& state = turn.state;
  std::map<ResourceName, std::set<std::string>> found;
  for (const RecordedDevices& entry : version.entries) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource || !isServed(state, *resource)) continue;
    for (const std::string& id : entry.ids) {
      if (isTicket(id)) continue;  // nobody has a device by it
      if (isSetId(id) && !setsIn(state, entry).empty()) continue;
      if (!unitNamed(state, id) && devicesNamedBy(state, *resource, id).empty()) {
        found[*resource].insert(id);
      }
    }
  }
  const auto before = std::exchange(state.foreignIds, std::move(found));
  std::map<ResourceName, std::set<UnitId>> suspected;
  for (const auto& [resource, ids] : state.foreignIds) {
    suspected.emplace(resource, devicesSince(state, resource));
  }
  state.suspected = std::move(suspected);
  const auto tell = [&turn](const char* name, const ResourceName& resource,
                            const std::set<std::string>& ids) {
    JournalEvent event{.event = name, .time = turn.now.seconds(), .resource = resource};
    event.reason = name;
    event.foreignIds = {ids.begin(), ids.end()};
    turn.out.journal.push_back(std::move(event));
  };
  for (const auto& [resource, ids] : state.foreignIds) {
    const auto known = before.find(resource);
    if (known == before.end() || known->second != ids) tell("foreign-ids", resource, ids);
  }
  for (const auto& [resource, ids] : before) {
    if (!state.foreignIds.contains(resource)) tell("foreign-ids-gone", resource, ids);
  }
}

const ResourceName* suspectedIn(const LedgerState& state, const std::set<UnitId>& members) {
  for (const auto& [resource, devices] : state.suspected) {
    if (meet(devices, members)) return &resource;
  }
  return nullptr;
}

std::string suspicionText(const LedgerState& state, const ResourceName& resource) {
  const auto found = state.foreignIds.find(resource);
  const std::string id =
      found == state.foreignIds.end() ? "" : quoteForeign(*found->second.begin());
  return "the kubelet has " + id + " allocated as " + resource.str() +
         ", which is no device known here: nothing of it is free for sure until that pod ends";
}

}  // namespace vfiogate
