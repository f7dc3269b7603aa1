#pragma once
// What keeps a whole node from binding or allocating devices, whatever the devices are.

#include "ipc/types/snapshot.h"

#include <string_view>
#include <vector>

namespace vfiogate {

struct NodeObstacle {
  /// Stable: "no_iommu", "vfio_pci_not_loaded", "readonly_sysfs", "apparmor_denied".
  std::string_view code;
  std::string_view fix;  ///< for people: what is the matter, and the setting that lifts it

  friend bool operator==(const NodeObstacle&, const NodeObstacle&) = default;
};

/// Whether anybody asks this privd to bind devices: by its right `bind`, --declare or `bind
/// --keep`.
enum class BindingAsked : bool { kNo, kYes };

/// None where everything that could be told is as it should be, nor where nothing is to be bound:
/// what the host has on a VFIO driver can be allocated whatever these say.
std::vector<NodeObstacle> obstaclesOf(const Snapshot& snapshot, BindingAsked asked);

}  // namespace vfiogate
