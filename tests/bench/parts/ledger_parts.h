#pragma once
// plugind's decisions by themselves.

#include "tests/bench/parts/parts.h"

namespace vfiogate::bench {

/// The ledger's part of an Allocate of one device: the question, then the reading of its group.
/// `held`: so many devices are other pods'.
std::unique_ptr<Running> startAllocate(unsigned devices, unsigned held);

/// An Allocate of what there is not.
std::unique_ptr<Running> startRefused(unsigned devices);

/// A device of `devices` is bound or unbound: the catalogue, the ledger, the frame as a message.
std::unique_ptr<Running> startChange(unsigned devices);

/// The choice of eight out of all.
std::unique_ptr<Running> startPreferred(unsigned devices);

}  // namespace vfiogate::bench
