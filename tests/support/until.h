#pragma once
// Waits for what nothing tells of.

#include "sim/base/child_process.h"

#include <poll.h>

#include <chrono>
#include <functional>

namespace vfiogate::test {

/// Asks again and again, for as long as tests wait. True as soon as it holds.
inline bool until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, 50);
  }
  return true;
}

}  // namespace vfiogate::test
