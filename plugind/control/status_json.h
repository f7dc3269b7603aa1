#pragma once
// Status and explanation as JSON. docs/status-json.md has the fields, which are stable.

#include "plugind/core/status/explanation.h"

#include <nlohmann/json.hpp>

namespace vfiogate {

nlohmann::ordered_json toJson(const PluginStatus& status, const Moment& now);
nlohmann::ordered_json toJson(const Explanation& explanation);

/// One line; what is not UTF-8 is replaced.
std::string textOf(const nlohmann::ordered_json& json);

}  // namespace vfiogate
