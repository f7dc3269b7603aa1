#pragma once
// CDI specs as privd is asked to write them: with the device nodes, which the asker has read.

#include "ipc/types/claim_spec.h"
#include "ipc/types/vfio_nodes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

/// Nodes of one device.
constexpr std::size_t kMostSpecNodes = 2 * kMostClaimHands + 2;

/// One resource's static spec. Devices that hand over the same nodes name the same set.
struct StaticSpecText {
  struct Device {
    UnitId address;
    std::uint16_t nodes;  ///< of `nodeSets`
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::string resource;
  std::vector<SpecNodes> nodeSets;  ///< none is empty
  std::vector<Device> devices;      ///< ascending, at least one

  friend bool operator==(const StaticSpecText&, const StaticSpecText&) = default;
};

/// `spec` with the nodes of each of its devices, in their order.
struct ClaimSpecText {
  ClaimSpec spec;
  std::vector<SpecNodes> nodes;

  friend bool operator==(const ClaimSpecText&, const ClaimSpecText&) = default;
};

}  // namespace vfiogate
