#pragma once
// Durations as people write them: "60s".

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Reads a whole number and a unit: ms, s, m or h. Null if it is anything else, or above a year.
std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);

/// In seconds if it is whole seconds, otherwise in milliseconds.
std::string durationText(std::chrono::milliseconds duration);

}  // namespace vfiogate
