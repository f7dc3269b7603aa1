#pragma once
// The configuration's file: read whole, once, while files can still be opened.

#include "plugind/config/config.h"

#include <string>
#include <vector>

namespace vfiogate {

/// An empty path means no file: every key at its default. Errors also where the file cannot be read
/// or is larger than kMaxConfigBytes.
Result<Config, std::vector<ConfigRemark>> readConfigFile(const std::string& path);

}  // namespace vfiogate
