#pragma once
// The daemon's life: power given up, listening, locked down, and only then the first byte from
// outside.

#include "plugind/cli/command_line.h"
#include "plugind/config/config.h"

namespace vfiogate {

/// Serves until SIGTERM or SIGINT, then ends the process with code 0: at once and quietly, so that
/// the kubelet sees a disconnect and no empty frame. Returns only if start-up fails, with the exit
/// code and the reason on the log.
int serve(const CommandLine& line, Config config);

}  // namespace vfiogate
