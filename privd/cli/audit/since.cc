#include "privd/cli/audit/since.h"

#include "privd/audit/audit_record.h"

#include <charconv>
#include <chrono>

namespace vfiogate {
namespace {

using std::chrono::nanoseconds;

/// Takes text from the left, piece by piece; false and null once something does not stand there.
class TimeReader {
public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  /// Exactly `width` digits.
  std::optional<unsigned> number(std::size_t width) {
    unsigned value = 0;
    if (text_.size() < width || text_.find_first_not_of("0123456789") < width) return std::nullopt;
    std::from_chars(text_.data(), text_.data() + width, value);
    text_.remove_prefix(width);
    return value;
  }
  bool mark(std::string_view any) {
    if (text_.empty() || any.find(text_[0]) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool isAtEnd() const { return text_.empty(); }

  /// "12:30", as minutes.
  std::optional<unsigned> minutes() {
    const auto hours = number(2);
    if (!hours || !mark(":")) return std::nullopt;
    const auto rest = number(2);
    if (!rest || *hours > 23 || *rest > 59) return std::nullopt;
    return *hours * 60 + *rest;
  }

private:
  std::string_view text_;
};

std::optional<std::chrono::sys_days> readDay(TimeReader& reader) {
  using namespace std::chrono;
  const auto years = reader.number(4);
  if (!years || !reader.mark("-")) return std::nullopt;
  const auto months = reader.number(2);
  if (!months || !reader.mark("-")) return std::nullopt;
  const auto days = reader.number(2);
  if (!days) return std::nullopt;
  // Years that count ns since 1970 in 64 bits.
  const year_month_day date{year(static_cast<int>(*years)), month(*months), day(*days)};
  if (!date.ok() || *years < 1970 || *years > 2200) return std::nullopt;
  return sys_days(date);
}

std::optional<nanoseconds> readFraction(TimeReader& reader) {
  std::int64_t value = 0;
  if (!reader.mark(".")) return nanoseconds(0);
  std::int64_t worth = 100'000'000;
  for (auto digit = reader.number(1); digit; digit = reader.number(1), worth /= 10) {
    value += static_cast<std::int64_t>(*digit) * worth;
  }
  return nanoseconds(value);
}

/// What to take away for UTC.
std::optional<std::chrono::minutes> readZone(TimeReader& reader) {
  if (reader.mark("Zz")) return std::chrono::minutes(0);
  const int sign = reader.mark("-") ? -1 : 1;
  if (sign > 0 && !reader.mark("+")) return std::nullopt;
  const auto minutes = reader.minutes();
  if (!minutes) return std::nullopt;
  return std::chrono::minutes(sign * static_cast<int>(*minutes));
}

std::optional<nanoseconds> readTime(std::string_view text) {
  TimeReader reader(text);
  const auto day = readDay(reader);
  if (!day) return std::nullopt;
  const nanoseconds begin = day->time_since_epoch();
  if (reader.isAtEnd()) return begin;
  if (!reader.mark("Tt ")) return std::nullopt;
  const auto minutes = reader.minutes();
  if (!minutes || !reader.mark(":")) return std::nullopt;
  const auto seconds = reader.number(2);
  if (!seconds || *seconds > 60) return std::nullopt;
  const auto fraction = readFraction(reader);
  const auto zone = readZone(reader);
  if (!zone || !reader.isAtEnd()) return std::nullopt;
  return begin + std::chrono::minutes(*minutes) + std::chrono::seconds(*seconds) + *fraction -
         *zone;
}

std::optional<nanoseconds> readAge(std::string_view text) {
  if (text.size() < 2 || text.size() > 6) return std::nullopt;
  unsigned count = 0;
  const char* const end = text.data() + text.size() - 1;
  if (std::from_chars(text.data(), end, count).ptr != end) return std::nullopt;
  switch (*end) {
    case 's':
      return std::chrono::seconds(count);
    case 'm':
      return std::chrono::minutes(count);
    case 'h':
      return std::chrono::hours(count);
    case 'd':
      return std::chrono::hours(24) * count;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> timeSince(std::string_view text, std::int64_t nowNs) {
  if (const auto age = readAge(text))
    return utcText(std::max<std::int64_t>(0, nowNs - age->count()));
  if (const auto time = readTime(text)) return utcText(std::max<std::int64_t>(0, time->count()));
  return std::nullopt;
}

}  // namespace vfiogate
