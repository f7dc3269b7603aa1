#include "plugind/core/status.h"

#include "ipc/types/hex.h"

namespace vfiogate {
namespace {

void describe(const PciDevice& device, DeviceStatus& status) {
  if (device.vendor && device.device) {
    status.model = hexDigits(*device.vendor, 4) + ":" + hexDigits(*device.device, 4);
  }
  status.driver = device.driver;
  status.numaNode = device.numaNode;
}

DeviceStatus deviceStatus(const LedgerState& state, const Bdf& address,
                          const LendingSettings& lending) {
  DeviceStatus status{.address = address, .group = viewOf(state, reachOf(state, {address}))};
  const auto device = state.hardware.snapshot.devices.find(address);
  if (device != state.hardware.snapshot.devices.end()) describe(device->second, status);
  const GroupReadiness judged = judgeReadiness(state.hardware, {address}, lending);
  const bool ready = judged.readiness == Readiness::kReady;
  status.hardware = ready ? "ready" : judged.bar.reason;
  status.hardwareText = judged.bar.text;
  const auto refusal = state.refusals.find(address);
  if (refusal != state.refusals.end()) status.lastRefusal = refusal->second;
  return status;
}

ResourceStatus resourceStatus(const LedgerState& state, const ResourceName& name,
                              const ShownResource& shown, const ResourceFacts& facts) {
  ResourceStatus status{.name = name, .lending = {}, .facts = facts, .devices = {}};
  std::set<Bdf> addresses;
  const auto ours = state.catalog.resources.find(name);
  if (ours != state.catalog.resources.end()) {
    status.lending = ours->second.lending;
    addresses.insert(ours->second.devices.begin(), ours->second.devices.end());
  }
  for (const auto& [id, device] : shown.devices) {
    if (const auto address = Bdf::parse(id)) addresses.insert(*address);
  }
  for (const Bdf& address : addresses) {
    status.devices.push_back(deviceStatus(state, address, status.lending));
    const auto inFrame = shown.devices.find(address.str());
    if (inFrame == shown.devices.end()) continue;
    status.devices.back().shown = true;
    status.devices.back().healthy = inFrame->second.device.healthy;
  }
  return status;
}

}  // namespace

PluginStatus statusOf(const LedgerState& state,
                      const std::map<ResourceName, ResourceFacts>& facts) {
  PluginStatus status{.privdThere = state.privdThere,
                      .privdAwaySince = state.privdThere ? std::nullopt : state.awaySince,
                      .lendingOpen = !state.lendingClosed,
                      .begun = state.begun,
                      .adopted = state.adopted,
                      .resources = {},
                      .gone = {},
                      .leftOut = state.catalog.leftOut};
  std::set<ResourceName> names;
  for (const auto& [name, devices] : state.catalog.resources) names.insert(name);
  for (const auto& [name, shown] : state.shown) names.insert(name);
  for (const ResourceName& name : names) {
    const auto shown = state.shown.find(name);
    const auto fact = facts.find(name);
    status.resources.push_back(
        resourceStatus(state, name, shown == state.shown.end() ? ShownResource{} : shown->second,
                       fact == facts.end() ? ResourceFacts{} : fact->second));
  }
  for (const HolderRecord& record : state.records) {
    if (!groupNumber(state, record.members)) status.gone.push_back(viewOf(state, record.members));
  }
  return status;
}

std::string_view nameOf(GroupUse use) {
  switch (use) {
    case GroupUse::kIdle:
      return "idle";
    case GroupUse::kOpen:
      return "open";
    case GroupUse::kBlind:
      return "blind";
    case GroupUse::kUnknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace vfiogate
