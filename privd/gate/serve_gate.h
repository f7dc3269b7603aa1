#pragma once
// The process that holds the kubelet's sockets, CDI specs and the record of allocations.

#include "privd/options/serve_options.h"

#include <cstdint>

namespace vfiogate {

/// Serves until the daemon at the other end of `controlFd` leaves, or SIGTERM or SIGINT; returns
/// the exit code. Says by one byte on `controlFd` that it is locked down. Failures of start-up are
/// one line on stderr and 1.
int serveGate(const ServeOptions& options, int controlFd);

}  // namespace vfiogate
