#pragma once
// What an event brings along that the ledger does not have itself: time and chance.

#include <chrono>
#include <cstdint>

namespace vfiogate {

/// A point of the monotonic clock, for durations. The ledger never reads a clock.
using Instant = std::chrono::steady_clock::time_point;
/// A point of the wall clock: for texts, and beside the times of the kubelet's files.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

struct Moment {
  Instant instant;
  WallTime wall;
  std::uint16_t draw = 0;  ///< where the search for a free reference starts

  std::chrono::sys_seconds seconds() const {
    return std::chrono::floor<std::chrono::seconds>(wall);
  }
};

}  // namespace vfiogate
