#include "plugind/core/holder_record.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>

#include "ipc/base/hex.h"

namespace vfiogate {
namespace {}  // namespace

std::optional<HolderRef> HolderRef::parse(std::string_view text) {
  std::uint16_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, 16);
  const HolderRef ref(number);
  if (read.ec != std::errc{} || read.ptr != end || ref.str() != text) return std::nullopt;
  return ref;
}

std::string HolderRef::str() const {
  return hexDigits(number_, 4);
}

void HolderRecord::keepRestOf(const HolderRecord& earlier) {
  for (const auto* granted : {&earlier.ids, &earlier.rest}) {
    std::ranges::set_difference(*granted, ids, std::inserter(rest, rest.end()));
  }
  members.insert(earlier.members.begin(), earlier.members.end());
}

std::string utcText(std::chrono::sys_seconds time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string text(sizeof("2026-01-01T00:00:00Z"), '\0');
  text.resize(strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

}  // namespace vfiogate
