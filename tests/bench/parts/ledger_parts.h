#pragma once
// plugind's decisions by themselves.

#include "tests/bench/parts/parts.h"

namespace vfiogate::bench {

/// A node: `devices` functions in groups of one size, by turns in one of several resources.
struct NodeShape {
  unsigned devices = 0;
  unsigned held = 0;  ///< so many groups are other pods'
  unsigned membersPerGroup = 1;
  unsigned resources = 1;
  unsigned open = 0;  ///< so many Allocates wait for the reading of their group
};

/// The ledger's part of an Allocate of one device: the question, then the reading of its group.
std::unique_ptr<Running> startAllocate(const NodeShape& shape);

/// An Allocate of what there is not.
std::unique_ptr<Running> startRefused(const NodeShape& shape);

/// The last `changed` devices are bound or unbound at once: the catalogue, the ledger, the frames
/// as messages.
std::unique_ptr<Running> startChange(const NodeShape& shape, unsigned changed);

/// The choice of eight out of all.
std::unique_ptr<Running> startPreferred(const NodeShape& shape);

}  // namespace vfiogate::bench
