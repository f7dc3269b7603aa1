#include "cli/usage.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace vfiogate {
namespace {

std::string plain(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string low;
  for (const char c : word) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// How many slips make one of the other: a letter missing, added, exchanged, or two swapped.
std::size_t slipsBetween(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> slips(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) slips[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) slips[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = slips[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      slips[i][j] = std::min({slips[i - 1][j] + 1, slips[i][j - 1] + 1, exchanged});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
    }
  }
  return slips[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kEnough = 2;  // letters that say which word was begun
  const std::string asked = plain(word);
  if (asked.empty() || asked.size() > kLongest) return std::nullopt;
  std::size_t fewest = std::max<std::size_t>(1, asked.size() / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    const std::string known = plain(candidate);
    if (known.size() > kLongest) continue;
    const bool begun = asked.size() >= kEnough && known.starts_with(asked);
    const std::size_t slips = begun ? 1 : slipsBetween(asked, known);
    // Of a word of two letters, nothing is left after two slips.
    if (slips >= fewest || slips >= known.size()) continue;
    fewest = slips;
    best = candidate;
  }
  return best;
}

std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? ": did you mean '" + *meant + "'?" : std::string();
}

std::string noneOf(std::string_view word, const std::string& kind,
                   const std::vector<std::string>& names) {
  const std::string meant = didYouMean(word, names);
  std::string text = "'" + std::string(word) + "' is no " + kind + meant;
  const char* before = meant.empty() ? ": there are " : " There are ";
  for (const std::string& name : names) text += std::exchange(before, ", ") + name;
  return text;
}

}  // namespace vfiogate
