#pragma once
// The daemon.

#include "privd/options/serve_options.h"

#include <string>
#include <vector>

namespace vfiogate {

/// Serves until SIGTERM or SIGINT; returns the exit code. Failures of start-up are one line on
/// stderr and 1; nothing was touched then.
/// `arguments` are those of which the options came.
int serve(const ServeOptions& options, const std::vector<std::string>& arguments);

}  // namespace vfiogate
