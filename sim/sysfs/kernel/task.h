#pragma once
// An operation of the simulated kernel that may have to wait, as a queue of steps.

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/sysfs/kernel/world.h"

namespace vfiogate::sim {

/// How one step went. A step that waits has changed nothing and is tried again later.
struct StepResult {
  bool waits = false;
  int error = 0;  ///< errno; ends the task
};

inline constexpr StepResult kNext{};
inline constexpr StepResult kWaits{true, 0};
inline constexpr StepResult refused(int error) {
  return {false, error};
}

struct Task;
using Step = std::function<StepResult(World&, Task&)>;

struct Task {
  TaskId id = 0;
  std::string what;  ///< for people, such as "write devices/.../unbind"
  std::deque<Step> steps;
  std::string text;  ///< what a read will answer

  /// Puts `more` before the steps that are left.
  void insert(std::vector<Step> more);
};

struct RunResult {
  bool ended = false;
  bool moved = false;  ///< it did something: others that wait may be able to go on
  int error = 0;       ///< errno of the end, or 0
};

/// Runs `task` as far as it goes. On its end, by an error too, all its locks are free again.
RunResult run(World& world, Task& task);

/// Waits for the device's lock and takes it. ENODEV if the device goes away meanwhile.
Step lockDevice(const Bdf& address);

/// What an operation that can't be carried out does instead.
std::vector<Step> refuse(int error);

/// Waits for the lock that serializes remove and rescan of all devices, and takes it.
Step lockRescan();

}  // namespace vfiogate::sim
