#pragma once
// What has to be written so that the API server comes to say a pool. Pure.
// Which slice of a pool has which devices and counter sets. Pure.

#include "ipc/base/result.h"
#include "netd/dra/slices/slice.h"
#include "netd/dra/slices/slice_name.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// The API server's limits: of devices where any has counters or taints, which ours may at any
/// time.
constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostCounterSets = 8;
constexpr std::size_t kMostCounters = 32;
constexpr std::size_t kMostConsumedSets = 2;  ///< of one device

/// What a slice has, by its place. No slice is empty.
using SliceContents = std::map<SliceSlot, SliceSpec>;

/// The pool in slices, of which only devices and counter sets are filled in. What stands in a slice
/// of `before` stays there while there is room; what is new goes into the first slice that has
/// some. Error: why the pool is none that a server takes, for people.
Result<SliceContents, std::string> layOut(const DevicePool& pool, const SliceContents& before);

struct SliceWrite {
  enum class Kind : std::uint8_t { kCreate, kUpdate, kDelete };

  Kind kind = Kind::kCreate;
  Slice slice;  ///< of a delete: what is deleted. uid and resourceVersion are preconditions

  friend bool operator==(const SliceWrite&, const SliceWrite&) = default;
};

/// What the server made of our last write of a slice. It may drop fields and add some: as long as
/// both stand, that is no difference, or there would be no end of writing.
struct SliceEcho {
  SliceSpec sent;
  SliceSpec stored;
};
using SliceEchoes = std::map<std::string, SliceEcho>;  ///< by the slice's name

/// By name. Source: a list of the slices of our driver and node, a watch, answers to our writes;
/// and whoever has a name that we were refused.
using ObservedSlices = std::map<std::string, Slice>;

struct SlicePlan {
  std::vector<Slice> wanted;       ///< all of the pool, as they are after the writes
  std::vector<SliceWrite> writes;  ///< in their order; none: the server says the pool

  friend bool operator==(const SlicePlan&, const SlicePlan&) = default;
};

/// Writes in this order: deletes, counters, devices. Where more than one slice changes, all get a
/// new generation: until the last of them is written, the pool is incomplete, and nobody reads a
/// mixture. One that changes alone keeps the generation. What is of our driver and node and not
/// ours otherwise is deleted. Error: for people; a name that somebody else's slice has, or a pool
/// that no server takes.
Result<SlicePlan, std::string> planSlices(const DevicePool& pool, const SliceOwner& node,
                                          const ObservedSlices& observed,
                                          const SliceEchoes& echoes);

/// Which of the fields that were sent are stored.
KeptFields keptOf(const SliceSpec& sent, const SliceSpec& stored);

}  // namespace vfiogate
