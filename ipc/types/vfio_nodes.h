#pragma once
// The device nodes through which VFIO devices are reached.

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/units.h"

namespace vfiogate {

/// Through which device nodes a container reaches its device.
enum class Backend : std::uint8_t {
  kAuto,     ///< legacy while the group has a node, otherwise iommufd
  kLegacy,   ///< /dev/vfio/vfio and /dev/vfio/<group>
  kIommufd,  ///< /dev/iommu and /dev/vfio/devices/vfio<N>
  kBoth,
  kAutoIommufd,  ///< iommufd while the device has a node, otherwise legacy
  kNoIommu,      ///< /dev/vfio/vfio and /dev/vfio/noiommu-<group>: isolates nothing
};

/// Which of the two ways are taken to one device; neither: it cannot be reached.
struct VfioWays {
  bool legacy = false;
  bool iommufd = false;
  bool noIommu = false;  ///< the legacy way is to a group of VFIO's no-IOMMU mode
};

/// What a device is reached through: its group, and vfio<K> of /dev/vfio/devices.
struct VfioPlace {
  std::optional<IommuGroupId> group;
  std::optional<std::uint32_t> vfioDev;
  bool cdevNode = false;  ///< vfio<K> is there
};

/// Nowhere if it is gone.
VfioPlace placeOf(const Snapshot& snapshot, const UnitId& id);

/// Those of the nodes of a device that are there and `backend` asks for; none without a group of
/// `snapshot`.
VfioWays waysTo(const Snapshot& snapshot, const VfioPlace& place, Backend backend);

/// A device node of VFIO's, or of GPUs' memory. No other path can be said.
struct SpecNode {
  enum class Kind : std::uint8_t {
    kContainer,     ///< /dev/vfio/vfio
    kGroup,         ///< /dev/vfio/<number>
    kIommufd,       ///< /dev/iommu
    kDevice,        ///< /dev/vfio/devices/vfio<number>
    kEgm,           ///< /dev/egm<number>
    kNoIommuGroup,  ///< /dev/vfio/noiommu-<number>; in no spec
  };
  Kind kind = Kind::kContainer;
  std::uint32_t number = 0;

  friend auto operator<=>(const SpecNode&, const SpecNode&) = default;
};

using SpecNodes = std::vector<SpecNode>;

/// The path on the host and in the container.
std::string pathOf(const SpecNode& node);
std::vector<std::string> pathsOf(const SpecNodes& nodes);

/// A set of nodes, each once.
class VfioNodes {
public:
  /// `ways` are waysTo() there.
  void add(const VfioPlace& place, VfioWays ways);

  /// /dev/vfio/vfio, the groups, /dev/iommu, the devices. Kata wants the first before the groups.
  SpecNodes nodes() const;

private:
  std::set<SpecNode> groups_;
  std::set<std::uint32_t> devices_;
};

/// The nodes that reach all of `addresses`. Absent: one of them is not in `snapshot`, cannot be
/// allocated as things stand (viability.h), or lacks a node.
std::optional<SpecNodes> vfioNodes(const Snapshot& snapshot, const std::set<UnitId>& addresses,
                                   Backend backend);

}  // namespace vfiogate
