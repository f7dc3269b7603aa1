#pragma once
// The configuration's message as YAML, every key written out.

#include <string>

#include "plugind/config/config.pb.h"

namespace vfiogate {

/// Texts are quoted always, so that no reader takes them for numbers. Ends in a newline.
std::string printConfig(const plugind_config::Config& config);

}  // namespace vfiogate
