#pragma once
// The loop's time as what is pure counts it.

#include <kj/timer.h>

#include <chrono>

namespace vfiogate {

inline std::chrono::steady_clock::time_point steadyTime(const kj::Timer& timer) {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds((timer.now() - kj::origin<kj::TimePoint>()) / kj::NANOSECONDS));
}

}  // namespace vfiogate
