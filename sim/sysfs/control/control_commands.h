#pragma once
// What a person at the controls of a simulated node may say, one command a line.

#include <functional>
#include <optional>
#include <string>

#include "sim/sysfs/kernel/sim_kernel.h"

namespace vfiogate::sim {

/// What became of a command.
struct Reply {
  std::string text;  ///< lines, each ended; an error is one line "error: ..."
  bool failed = false;
  TaskId task = 0;      ///< not 0: the answer depends on how this task ends, or that it waits
  std::string command;  ///< for describe()
  std::optional<std::size_t> untilWaiting;  ///< answer when so many operations wait
};

/// Switches that are not the kernel's.
struct Switches {
  /// Whether a process has a node open, as "dev/vfio/12"; absent: none ever has.
  std::function<bool(const std::string&)> isNodeOpen;
  bool uevents = true;  ///< false: events are lost on the way
};

/// Carries out `line`. What could not be done is told with its reason.
Reply execute(SimKernel& kernel, Switches& switches, const std::string& line);

/// The answer to a command whose task ended with `error`.
Reply finish(const std::string& command, int error);

/// All commands, a line each.
std::string commandHelp();

/// Devices, groups, users and what waits, as a table.
std::string show(const SimKernel& kernel);

}  // namespace vfiogate::sim
