#pragma once
// From the configuration's message to the core's settings: what the values mean together.

#include "plugind/config/config.pb.h"
#include "plugind/config/findings.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// The settings that `message` asks for. What makes no sense is refused in `findings` and left out;
/// what is odd is a warning.
Settings toSettings(const plugind_config::Config& message, Findings& findings);

}  // namespace vfiogate
