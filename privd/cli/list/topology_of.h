#pragma once
// The devices that privd sees as a tree: NUMA nodes, root complexes, bridges, devices.

#include "cli/picture/topology.h"
#include "privd/cli/base/list_filter.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/scan/sysfs_root.h"

#include <map>

namespace vfiogate {

/// Behind which function each one is. What is not in it hangs from the root complex.
using Parents = std::map<Bdf, Bdf>;

/// Of all devices of `snapshot`. Source: where their links in sysfs point.
Parents readParents(const SysfsRoot& sysfs, const Snapshot& snapshot);

/// The function above the last one of "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0".
/// Null: there is none.
std::optional<Bdf> parentIn(std::string_view place);

/// What a tree is made from.
struct TreeFacts {
  const NodeView& view;
  const Parents& parents;
  const RecordedHolders& holders;
  const ListFilter& filter;  ///< `all`: bridges with nothing behind them, too
};
/// Every function that has a place; those that hang from each other in a circle have none.
Topology topologyOf(const TreeFacts& facts);

}  // namespace vfiogate
