#pragma once
// privd-hardware's readings by themselves.

#include "tests/bench/parts/parts.h"

namespace vfiogate::bench {

/// A reading of everything.
std::unique_ptr<Running> startSweep(unsigned devices);

/// At everything, of which nothing has changed.
std::unique_ptr<Running> startGlance(unsigned devices);

/// What an Allocate has read: one group, of which everything is known.
std::unique_ptr<Running> startReread(unsigned devices);

/// The system calls of a sweep, and nothing else.
std::unique_ptr<Running> startBareSweep(unsigned devices);

}  // namespace vfiogate::bench
