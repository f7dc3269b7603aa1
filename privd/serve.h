#pragma once
// The daemon.

#include "privd/options/serve_options.h"

namespace vfiogate {

/// Serves until SIGTERM or SIGINT; returns the exit code. Failures of start-up are one line on
/// stderr and 1; nothing was touched then.
int serve(const ServeOptions& options);

}  // namespace vfiogate
