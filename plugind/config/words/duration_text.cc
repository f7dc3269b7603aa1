#include "plugind/config/words/duration_text.h"

#include <algorithm>
#include <cstdint>

#include "ipc/base/hex.h"

namespace vfiogate {

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
