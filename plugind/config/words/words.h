#pragma once
// Words of a configuration: durations as people write them ("60s"), and a guess what was meant by
// a word that is not known.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// The word of `known` that `written` most likely misspells. Null: none is near.
std::optional<std::string> nearestWord(std::string_view written,
                                       const std::vector<std::string>& known);

/// "a, b, c".
std::string listWords(const std::vector<std::string>& words);

/// Reads a whole number and a unit: ms, s, m or h. Null if it is anything else, or above a year.
std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);

/// In seconds if it is whole seconds, otherwise in milliseconds.
std::string durationText(std::chrono::milliseconds duration);

}  // namespace vfiogate
