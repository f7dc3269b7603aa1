#include "plugind/core/status/status.h"

#include <algorithm>

#include "ipc/base/hex.h"
#include "plugind/core/resource/more_tickets.h"
#include "plugind/core/status/explanation.h"

namespace vfiogate {
namespace {

std::string modelOf(const PciDevice& device) {
  if (!device.vendor || !device.device) return {};
  return hexDigits(*device.vendor, 4) + ":" + hexDigits(*device.device, 4);
}

void describe(const PciDevice& device, DeviceStatus& status) {
  status.model = modelOf(device);
  status.driver = device.driver;
  status.numaNode = device.numaNode;
}

void describe(const MediatedDevice& device, DeviceStatus& status) {
  status.model = device.typeForPeople();
  status.driver = device.driver;
  status.numaNode = device.numaNode;
}

/// The records by each address of their groups: there may be thousands of both.
using RecordIndex = std::map<UnitId, std::vector<std::size_t>>;

RecordIndex indexOf(const std::vector<HolderRecord>& records) {
  RecordIndex index;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const UnitId& member : records[i].members) index[member].push_back(i);
  }
  return index;
}

GroupView groupOf(const LedgerState& state, const RecordIndex& index,
                  const std::set<UnitId>& members) {
  std::set<std::size_t> records;
  for (const UnitId& member : members) {
    const auto found = index.find(member);
    if (found != index.end()) records.insert(found->second.begin(), found->second.end());
  }
  return viewOf(state, members, {records.begin(), records.end()});
}

DeviceStatus deviceStatus(const LedgerState& state, const RecordIndex& index, const UnitId& address,
                          const ResourceStatus& resource) {
  DeviceStatus status{.address = address,
                      .group = groupOf(state, index, reachOf(state, {address}))};
  const PciDevice* device = functionOf(state.hardware.snapshot, address);
  if (device != nullptr) describe(*device, status);
  const MediatedDevice* mediated = mediatedOf(state.hardware.snapshot, address);
  if (mediated != nullptr) describe(*mediated, status);
  const GroupReadiness judged =
      judgeReadiness(state.hardware, resource.name, {address}, resource.allocation);
  status.hardware = judged.bar.reason;
  status.hardwareText = judged.bar.text;
  if (judged.readiness == Readiness::kReady) status.hardware = "ready";
  if (judged.readiness == Readiness::kBindable) status.hardware = "bindable";
  const auto refusal = state.refusals.find(address);
  if (refusal != state.refusals.end()) status.lastRefusal = refusal->second;
  return status;
}

std::vector<TicketStatus> ticketsOf(const LedgerState& state, const ResourceName& name,
                                    const ShownResource& shown) {
  std::vector<TicketStatus> tickets;
  for (const auto& [companion, ticket] : state.catalog.tickets) {
    if (ticket.resource != name) continue;
    const PciDevice* device = functionOf(state.hardware.snapshot, companion);
    const auto inFrame = shown.devices.find(ticketId(companion));
    tickets.push_back(
        {.companion = companion,
         .model = device == nullptr ? std::string() : modelOf(*device),
         .card = ticket.card,
         .healthy = inFrame != shown.devices.end() && inFrame->second.device.healthy});
  }
  return tickets;
}

std::optional<MoreStatus> moreOf(const LedgerState& state, const ResourceName& name,
                                 const ShownResource& shown) {
  const ResourceName* main = resourceWithMore(state.catalog, name);
  if (main == nullptr) return std::nullopt;
  MoreStatus status{.of = *main};
  for (const auto& [id, device] : shown.devices) {
    if (!moreTicketIn(id)) continue;  // somebody's from before
    ++status.tickets;
    if (device.device.healthy) ++status.healthy;
  }
  return status;
}

ResourceStatus resourceStatus(const LedgerState& state, const RecordIndex& index,
                              const ResourceName& name, const ShownResource& shown,
                              const ResourceFacts& facts) {
  ResourceStatus status{.name = name,
                        .allocation = {},
                        .facts = facts,
                        .devices = {},
                        .tickets = ticketsOf(state, name, shown),
                        .moreOf = moreOf(state, name, shown)};
  std::set<UnitId> addresses;
  const auto ours = state.catalog.resources.find(name);
  if (ours != state.catalog.resources.end()) {
    status.allocation = ours->second.allocation;
    addresses.insert(ours->second.devices.begin(), ours->second.devices.end());
  }
  for (const auto& [id, device] : shown.devices) {
    if (const auto address = UnitId::parse(id)) addresses.insert(*address);
  }
  for (const UnitId& address : addresses) {
    status.devices.push_back(deviceStatus(state, index, address, status));
    DeviceStatus& device = status.devices.back();
    const auto inFrame = shown.devices.find(address.str());
    device.shown = inFrame != shown.devices.end();
    device.healthy = device.shown && inFrame->second.device.healthy;
    const Bar bar = offerReason(state, name, device);
    device.reason = bar.reason;
    device.reasonText = bar.text;
  }
  status.sets = setsOf(state, status, shown);
  if (status.sets.empty()) return status;
  for (DeviceStatus& device : status.devices) {
    const Bar bar = reasonInSets(state, status.sets, name, device);
    device.reason = bar.reason;
    device.reasonText = bar.text;
  }
  return status;
}

/// What the configuration wants and privd does not give.
bool lacksRight(const LedgerState& state) {
  return !state.hardware.mayBind &&
         std::ranges::any_of(state.catalog.resources,
                             [](const auto& entry) { return entry.second.allocation.onAllocate; });
}

constexpr NodeObstacle kNoRight{
    "no_right_to_bind",
    "bind: on-allocate is configured, and privd gives no right to bind: add bind to "
    "its --plugind-rights"};

constexpr NodeObstacle kNoBinder{
    "no_right_to_bind", "bind: on-allocate is configured, and privd-binder is away: start it"};

}  // namespace

PluginStatus statusOf(const LedgerState& state,
                      const std::map<ResourceName, ResourceFacts>& facts) {
  PluginStatus status{.privdThere = state.privdThere,
                      .privdAwaySince = state.privdThere ? std::nullopt : state.awaySince,
                      .privdMissing = {},
                      .allocationOpen = state.privdThere && state.hardwareKnown && state.begun &&
                                        !state.allocationClosed,
                      .begun = state.begun,
                      .adopted = state.adopted,
                      .resources = {},
                      .gone = {},
                      .leftOut = state.catalog.leftOut,
                      .obstacles = {}};
  if (state.privdThere)
    status.obstacles = obstaclesOf(state.hardware.snapshot,
                                   state.hardware.mayBind ? BindingAsked::kYes : BindingAsked::kNo);
  if (state.privdThere && lacksRight(state)) {
    status.obstacles.push_back(state.hardware.binderAway ? kNoBinder : kNoRight);
  }
  const RecordIndex index = indexOf(state.records);
  std::set<ResourceName> names;
  for (const auto& [name, devices] : state.catalog.resources) names.insert(name);
  for (const auto& [name, shown] : state.shown) names.insert(name);
  for (const ResourceName& name : names) {
    const auto shown = state.shown.find(name);
    const auto fact = facts.find(name);
    status.resources.push_back(resourceStatus(
        state, index, name, shown == state.shown.end() ? ShownResource{} : shown->second,
        fact == facts.end() ? ResourceFacts{} : fact->second));
  }
  for (const HolderRecord& record : state.records) {
    if (groupNumber(state, record.members)) continue;
    status.gone.push_back(groupOf(state, index, record.members));
  }
  return status;
}

}  // namespace vfiogate
