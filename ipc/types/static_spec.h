#pragma once
// What plugind wants in a static CDI spec: one for each resource that asks for it.

#include "ipc/types/units.h"
#include "ipc/types/vfio_nodes.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// Specs in one declaration, and devices in all of them: what fits into one message of a peer.
constexpr std::size_t kMostSpecs = 64;
constexpr std::size_t kMostSpecDevices = 4096;

/// The devices of one resource, each to be named by its address.
struct StaticSpec {
  std::string resource;  ///< as the peer wrote it
  Backend backend = Backend::kAuto;
  /// A device hands over the nodes of all of `devices` that are in its IOMMU group, not only its
  /// own.
  bool wholeGroups = false;
  std::vector<UnitId> devices;  ///< ascending

  friend bool operator==(const StaticSpec&, const StaticSpec&) = default;
};

/// Whose nodes `address` hands over, itself included.
inline std::set<UnitId> handedOver(const StaticSpec& spec, const Snapshot& hardware,
                                   const UnitId& address) {
  std::set<UnitId> all{address};
  const auto group = groupOf(hardware, address);
  if (!spec.wholeGroups || !group) return all;
  for (const UnitId& member : unitsOf(hardware, *group)) {
    if (std::ranges::binary_search(spec.devices, member)) all.insert(member);
  }
  return all;
}

}  // namespace vfiogate
