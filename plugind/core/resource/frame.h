#pragma once
// What a resource shows the kubelet at one moment.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// One device in a frame. `id` is the device's address in the kernel's spelling: stable over
/// restarts and reboots, which group numbers are not.
struct FrameDevice {
  std::string id;
  bool healthy = false;
  std::optional<std::uint32_t> numaNode;

  friend bool operator==(const FrameDevice&, const FrameDevice&) = default;
};

/// The complete list of a resource's devices, ascending by id: what one ListAndWatch message says.
struct Frame {
  std::vector<FrameDevice> devices;

  friend bool operator==(const Frame&, const Frame&) = default;
};

}  // namespace vfiogate
