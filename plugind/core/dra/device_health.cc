#include "plugind/core/dra/device_health.h"

#include <algorithm>

#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/ledger/frames/offers.h"

namespace vfiogate {
namespace {

constexpr std::size_t kLongestMessage = 1024;  // of the kubelet

bool claimHas(const LedgerState& state, const UnitId& address) {
  return std::ranges::any_of(state.records, [&address](const HolderRecord& record) {
    return record.isClaim() && record.ids.contains(address);
  });
}

void judge(const LedgerState& state, const UnitId& address, DeviceHealth& health) {
  if (!state.privdThere && state.allocationClosed) {
    health.message = "privd is away: nobody watches the hardware";
    return;
  }
  health.health = DraHealth::kUnhealthy;
  if (!isPresent(state.hardware.snapshot, address)) {
    health.message = "gone: unplugged or removed";
    return;
  }
  if (!answers(state.hardware.snapshot, address)) {
    health.message = "does not answer: its configuration space reads all ones";
    return;
  }
  health.health = DraHealth::kHealthy;
  const auto resource = resourceOf(state.catalog, address);
  if (!resource || claimHas(state, address)) return;
  const auto handed = handedOver(state.hardware, state.catalog, *resource, {address});
  const auto judged = judgeHardware(state.hardware, handed, allocationOf(state, *resource));
  if (allocatable(judged)) return;
  health.health = DraHealth::kUnhealthy;
  health.message = judged.bar.text.substr(0, kLongestMessage);
}

/// As bad as the worst of its units.
void judgeSet(const LedgerState& state, const std::string& id, DeviceHealth& health) {
  for (const auto& [name, resource] : state.catalog.resources) {
    const auto set = resource.sets.find(id);
    if (set == resource.sets.end()) continue;
    for (const UnitId& unit : set->second) {
      judge(state, unit, health);
      if (health.health == DraHealth::kHealthy) continue;
      health.message = (unit.str() + ": " + health.message).substr(0, kLongestMessage);
      return;
    }
  }
}

}  // namespace

HealthFrame healthOf(const LedgerState& state, const DevicePool& pool) {
  HealthFrame frame;
  for (const auto& [name, device] : pool.devices) {
    DeviceHealth health{
        .pool = pool.name, .device = name, .health = DraHealth::kUnknown, .message = {}};
    if (const auto address = deviceAddress(name)) judge(state, *address, health);
    if (const auto set = setInDeviceName(name)) judgeSet(state, *set, health);
    frame.push_back(std::move(health));
  }
  return frame;
}

}  // namespace vfiogate
