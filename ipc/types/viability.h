#pragma once
// Why a device can or cannot be passed through as things stand.
// What keeps a whole node from binding or allocating devices, whatever the devices are.

#include "ipc/types/snapshot.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// What stands between a device and a virtual machine. In order of telling: the first that applies
/// is the one a person should mend first.
enum class Obstacle : std::uint8_t {
  kNone,              ///< can be passed through
  kUnreadable,        ///< sysfs does not say what this is (ids or class absent or malformed)
  kBridge,            ///< header type 1 or 2
  kPlatform,          ///< part of the machine itself, and on no VFIO driver
  kNoGroup,           ///< no IOMMU group: IOMMU off, or not covered by it
  kNoIommu,           ///< VFIO's no-IOMMU mode: no isolation
  kNotAnswering,      ///< configuration space reads all ones
  kOperatorExcluded,  ///< an operator excluded its group
  kWriteStuck,        ///< a write that changes its group's drivers has not come back
  kBeingUnbound,      ///< no driver, but enabled: somebody unbinds it while it is in use
  kMediatedParent,    ///< on its host driver, which has made mediated devices of it
  kNoVgpuType,        ///< its host driver makes a vGPU of it, and no type is set
  kHostDriver,        ///< bound to a driver that does not offer VFIO
  kNoDriver,          ///< bound to no driver
  kMemberOnHost,      ///< another endpoint of its group is bound to a driver that offers no VFIO
  kMemberStuck,       ///< another endpoint of its group is being unbound while in use
  kHasVfs,            ///< its virtual functions, or a member's, are devices of other groups
  kNoNode,            ///< neither group node nor device node in /dev
};

struct Viability {
  Obstacle obstacle = Obstacle::kNone;
  std::optional<Bdf> culprit;  ///< the member, for kMemberOnHost, kMemberStuck and kHasVfs

  bool ready() const { return obstacle == Obstacle::kNone; }
  friend bool operator==(const Viability&, const Viability&) = default;
};

/// Judges one device of `snapshot` from the snapshot alone. `address` must be in it.
Viability viability(const Snapshot& snapshot, const Bdf& address);

/// The same of a mediated device: of its group, its driver and its nodes.
Viability viability(const Snapshot& snapshot, const MediatedDevice& device);

/// Of either. `id` must be in the snapshot.
Viability viabilityOf(const Snapshot& snapshot, const UnitId& id);

/// The stable name of an obstacle: "passable", "bridge", "host-driver", ...
std::string_view reasonCode(Obstacle obstacle);

/// In words, of what privd's record says of a group: kOperatorExcluded, kWriteStuck; else empty.
std::string_view obstacleText(Obstacle obstacle);

/// The obstacle in words, with what would lift it, such as
/// "bound to nvme, not to a VFIO driver: bind its group to vfio-pci".
std::string explain(const Snapshot& snapshot, const Bdf& address, const Viability& viability);
/// The same of a mediated device.
std::string explain(const MediatedDevice& device, const Viability& viability);
/// Of either.
std::string explainUnit(const Snapshot& snapshot, const UnitId& id, const Viability& viability);

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
