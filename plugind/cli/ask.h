#pragma once
// The commands that ask the running plugind.

#include "plugind/cli/command_line.h"

namespace vfiogate {

/// Prints the answer. Returns the exit code: 0 answered, 1 not. For a probe: 0 ready, 1 not ready
/// or not answered.
int ask(const CommandLine& line);

}  // namespace vfiogate
