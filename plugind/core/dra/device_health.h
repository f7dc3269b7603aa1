#pragma once
// The health of a pool's devices, as the kubelet shows it in a pod's status.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/api/device_pool.h"
#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

enum class DraHealth : std::uint8_t { kUnknown, kHealthy, kUnhealthy };

struct DeviceHealth {
  std::string pool;
  std::string device;
  DraHealth health = DraHealth::kUnknown;
  std::string message;  ///< for people, at most 1024 bytes

  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

/// Of all devices, ascending by name.
using HealthFrame = std::vector<DeviceHealth>;

/// Health stands in the status of pods that use a device, and nobody else sees it: what a claim
/// holds is healthy unless it is gone or does not answer. Unknown while privd is away for longer
/// than `grace`.
HealthFrame healthOf(const LedgerState& state, const DevicePool& pool);

}  // namespace vfiogate
