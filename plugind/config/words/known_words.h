#pragma once
// Guesses what a person meant who wrote a word that is not known.

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

}  // namespace vfiogate
