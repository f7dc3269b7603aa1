#pragma once
// Which addresses are allocated together, whether they can be as things stand, and through which
// nodes.

#include "ipc/base/result.h"
#include "ipc/types/units.h"
#include "plugind/core/settings.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// What keeps a device from being allocated.
struct Bar {
  std::string reason;  ///< "gone", or an obstacle's code: "host-driver", "no-node", ...
  std::string text;    ///< for people, with what would lift it
  friend bool operator==(const Bar&, const Bar&) = default;
};

/// The nodes for the devices `ids` of `snapshot`, each once: /dev/vfio/vfio, the groups,
/// /dev/iommu, the devices. Error: the bar of the first device that cannot be allocated. An address
/// that is not in `snapshot` is gone.
Result<std::vector<std::string>, Bar> deviceNodes(const Snapshot& snapshot,
                                                  const std::set<UnitId>& ids, Backend backend);
/// Its error alone, without making any path: every device is judged at each change.
std::optional<Bar> barTo(const Snapshot& snapshot, const std::set<UnitId>& ids, Backend backend);

/// The nodes of the regions all of whose GPUs are among `ids`. The memory of a region is one for
/// all of its GPUs: whoever has some of them only gets none of it.
SpecNodes egmNodes(const std::vector<EgmRegion>& regions, const std::set<UnitId>& ids);

/// The region of a GPU. Null: it has none.
std::optional<std::uint32_t> egmRegionOf(const std::vector<EgmRegion>& regions, const UnitId& id);

/// The addresses of the group that has `address`, itself included; itself alone if it is gone or
/// has no group.
std::set<UnitId> groupMembers(const Snapshot& snapshot, const UnitId& address);

/// True if the sets have an address in common.
bool meet(const std::set<UnitId>& left, const std::set<UnitId>& right);

}  // namespace vfiogate
