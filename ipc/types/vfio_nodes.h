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
};

/// Which of the two ways are taken to one device; neither: it cannot be reached.
struct VfioWays {
  bool legacy = false;
  bool iommufd = false;
};

/// Of a device that is in a group of `snapshot`: those of its nodes that are there and `backend`
/// asks for.
VfioWays waysTo(const Snapshot& snapshot, const PciDevice& device, Backend backend);

/// A device node of VFIO's. No other path can be said.
struct SpecNode {
  enum class Kind : std::uint8_t {
    kContainer,  ///< /dev/vfio/vfio
    kGroup,      ///< /dev/vfio/<number>
    kIommufd,    ///< /dev/iommu
    kDevice,     ///< /dev/vfio/devices/vfio<number>
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
  void add(const PciDevice& device, VfioWays ways);

  /// /dev/vfio/vfio, the groups, /dev/iommu, the devices. Kata wants the first before the groups.
  SpecNodes nodes() const;

private:
  std::set<IommuGroupId> groups_;
  std::set<std::uint32_t> devices_;
};

/// The nodes that reach all of `addresses`. Absent: one of them is not in `snapshot`, cannot be
/// allocated as things stand (viability.h), or lacks a node.
std::optional<SpecNodes> vfioNodes(const Snapshot& snapshot, const std::set<UnitId>& addresses,
                                   Backend backend);

}  // namespace vfiogate
