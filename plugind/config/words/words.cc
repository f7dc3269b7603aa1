#include "plugind/config/words/words.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace vfiogate {
namespace {

/// How many letters have to be added, dropped or changed; case, '-' and '_' do not count.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t change = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string folded(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c == '-' || c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

std::optional<std::string> nearestWord(std::string_view written,
                                       const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;
  if (written.size() > kLongest) return std::nullopt;
  const std::string letters = folded(written);
  std::optional<std::string> nearest;
  // More than a third of the letters wrong is another word.
  std::size_t best = letters.size() / 3 + 1;
  for (const std::string& word : known) {
    const std::size_t away = distance(letters, folded(word));
    if (away < best) {
      best = away;
      nearest = word;
    }
  }
  return nearest;
}

std::string listWords(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

std::optional<std::chrono::milliseconds> parseDuration(std::string_view text) {
  constexpr std::int64_t kYearMs = 365LL * 24 * 3'600'000;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parseDecimal(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  const std::int64_t unitMs = unit == "ms"  ? 1
                              : unit == "s" ? 1'000
                              : unit == "m" ? 60'000
                              : unit == "h" ? 3'600'000
                                            : 0;
  if (!number || unitMs == 0 || *number > kYearMs / unitMs) return std::nullopt;
  return std::chrono::milliseconds(*number * unitMs);
}

std::string durationText(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1'000 == 0 ? std::to_string(count / 1'000) + "s" : std::to_string(count) + "ms";
}

}  // namespace vfiogate
