#pragma once
// The health of a pool's devices, as the kubelet shows it in a pod's status.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace vfiogate
