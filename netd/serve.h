#pragma once
// The role `netd dra`: the API server found, power given up, locked down, and only then the first
// byte.
// The role `netd metrics`: listening, power given up, locked down, and only then the first byte.

#include "netd/command_line.h"

namespace vfiogate {

/// Serves plugind until SIGTERM or SIGINT, then ends the process with code 0. Returns only if
/// start-up fails, with the exit code and the reason on the log.
int serveDra(const NetdLine& line);

/// Serves until SIGTERM or SIGINT, then ends the process with code 0. Returns only if start-up
/// fails, with the exit code and the reason on the log.
int serveMetrics(const NetdLine& line);

}  // namespace vfiogate
