#include "privd/audit/record_end.h"

#include "privd/base/sha256.h"

#include <algorithm>
#include <charconv>

namespace vfiogate {
namespace {

constexpr std::string_view kPrevious = ",\"prev\":\"";
constexpr std::string_view kHash = "\",\"hash\":\"";

/// Cuts `part` off the end of `text`; false: it does not stand there.
bool cutOff(std::string_view& text, std::string_view part) {
  if (!text.ends_with(part)) return false;
  text.remove_suffix(part.size());
  return true;
}

std::string_view cutHash(std::string_view& text) {
  const std::string_view hash = text.substr(text.size() - std::min(text.size(), kNoHash.size()));
  text.remove_suffix(hash.size());
  return hash;
}

}  // namespace

std::optional<RecordEnd> recordEnd(std::string_view line) {
  RecordEnd end = {};
  if (!line.starts_with(kRecordBegin)) return std::nullopt;
  const char* const number = line.data() + kRecordBegin.size();
  const auto read = std::from_chars(number, line.data() + line.size(), end.sequence);
  if (read.ec != std::errc() || end.sequence == 0) return std::nullopt;
  std::string_view rest = line;
  if (!cutOff(rest, kRecordEnd)) return std::nullopt;
  end.hash = cutHash(rest);
  if (!cutOff(rest, kHash)) return std::nullopt;
  end.hashed = line.substr(0, rest.size() + 1);
  end.previous = cutHash(rest);
  if (!rest.ends_with(kPrevious)) return std::nullopt;
  return end;
}

bool hashIsOwn(const RecordEnd& end) {
  return sha256Digits(end.hashed) == end.hash;
}

std::optional<LastRecord> lastRecordOf(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const bool ended = rest.ends_with('\n');
    if (ended) rest.remove_suffix(1);
    const std::size_t newline = rest.rfind('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const auto end = recordEnd(rest.substr(begin));
    if (end && hashIsOwn(*end)) {
      return LastRecord{*end, text.size() - rest.size() - (ended ? 1 : 0)};
    }
    rest = rest.substr(0, begin);
  }
  return std::nullopt;
}

bool isTear(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view begin = line.substr(0, kRecordBegin.size());
    if (!kRecordBegin.starts_with(begin) || recordEnd(line)) return false;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return true;
}

}  // namespace vfiogate
