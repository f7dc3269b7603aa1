#pragma once
// How much of the machine a process may take, set by itself at its start. docs/limits.md has the
// values, where they come from, and what happens when one is reached.

#include "seccomp/step_failure.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vfiogate {

/// For good: soft and hard limit. 0: stays as it was found.
struct ResourceLimits {
  std::uint64_t descriptors = 1024;  ///< open at a time
  std::uint64_t memory = 0;          ///< bytes of heap and threads' stacks; not under sanitizers
};

/// A limit of the starter's that is below ours, and so stays.
struct LowerLimit {
  const char* what;  ///< "descriptors", "memory"
  std::uint64_t wanted;
  std::uint64_t allowed;
};

/// Sets them, which needs no power (dropPrivileges forbids core dumps), and tells what the starter
/// allows less of.
std::optional<StepFailure> limitResources(const ResourceLimits& limits,
                                          const std::function<void(const LowerLimit&)>& tell);

/// From now on the process that finds no memory for `new` writes `line` (which ends with a newline)
/// to standard error, with the time that `stamp` gives it, and ends with code 1. Nothing is
/// allocated then.
using WallTime = std::chrono::system_clock::time_point;
void endWithoutMemory(std::string line, void (*stamp)(std::string& line, WallTime now));

}  // namespace vfiogate
