#pragma once
// Which slice of a pool has which devices and counter sets. Pure.

#include "ipc/base/result.h"
#include "netd/dra/slices/slice.h"
#include "netd/dra/slices/slice_name.h"

#include <cstddef>
#include <map>
#include <string>

namespace vfiogate {

/// The API server's limits: of devices where any has counters or taints, which ours may at any
/// time.
constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostCounterSets = 8;
constexpr std::size_t kMostCounters = 32;

/// What a slice has, by its place. No slice is empty.
using SliceContents = std::map<SliceSlot, SliceSpec>;

/// The pool in slices, of which only devices and counter sets are filled in. What stands in a slice
/// of `before` stays there while there is room; what is new goes into the first slice that has
/// some. Error: why the pool is none that a server takes, for people.
Result<SliceContents, std::string> layOut(const DevicePool& pool, const SliceContents& before);

}  // namespace vfiogate
