#include "ipc/base/log_format.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestValue = 512;
constexpr std::string_view kTimeShape = "0000-00-00T00:00:00.000Z";
constexpr std::string_view kCut = "true";
/// For the last field, the closing brace and the line's end.
constexpr std::size_t kReserve = 32;
constexpr std::array<std::string_view, 4> kLevels{"info", "warning", "error", "critical"};

bool isWordCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("._:/,+-@").find(c) != std::string_view::npos;
}

bool isWord(std::string_view text) {
  return !text.empty() && text.size() <= kLongestValue &&
         std::ranges::all_of(text, isWordCharacter);
}

std::string quoted(std::string_view text, std::string_view escape) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestValue)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out.append(escape) += {kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
  }
  return out += text.size() > kLongestValue ? "...\"" : "\"";
}

std::string fieldOf(LogForm form, const LogEntry& entry) {
  if (form == LogForm::kJson) {
    return ",\"" + std::string(entry.key) + "\":" + quoted(entry.value, "\\u00");
  }
  return " " + std::string(entry.key) + "=" +
         (isWord(entry.value) ? std::string(entry.value) : quoted(entry.value, "\\x"));
}

/// Writes the digits that end before `end`.
void writeNumber(char* end, unsigned number, int digits) {
  for (; digits > 0; --digits, number /= 10) *--end = static_cast<char>('0' + number % 10);
}

}  // namespace

std::optional<LogForm> logFormOf(std::string_view word) {
  if (word == "logfmt") return LogForm::kLogfmt;
  if (word == "json") return LogForm::kJson;
  return std::nullopt;
}

std::string logLineOf(LogForm form, std::chrono::system_clock::time_point now, LogLevel level,
                      std::string_view event, std::span<const LogEntry> entries) {
  const bool json = form == LogForm::kJson;
  std::string line = json ? "{\"time\":\"" : "time=";
  line += kTimeShape;
  if (json) line += '"';
  restampLogLine(line, now);
  line += fieldOf(form, {"level", kLevels.at(static_cast<std::size_t>(level))});
  line += fieldOf(form, {"event", event});
  for (const LogEntry& entry : entries) {
    const std::string field = fieldOf(form, entry);
    if (line.size() + field.size() + kReserve > kLongestLogLine) {
      line += fieldOf(form, {"cut", kCut});
      break;
    }
    line += field;
  }
  return json ? line + "}" : line;
}

void restampLogLine(std::string& line, std::chrono::system_clock::time_point now) {
  using namespace std::chrono;
  // No gmtime: it reads the time zone's file first, which a filter forbids.
  const auto milli = floor<milliseconds>(now);
  const auto day = floor<days>(milli);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> time(milli - day);
  char* const begin = line.data() + (line.starts_with('{') ? 9 : 5);
  writeNumber(begin + 4, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  writeNumber(begin + 7, static_cast<unsigned>(date.month()), 2);
  writeNumber(begin + 10, static_cast<unsigned>(date.day()), 2);
  writeNumber(begin + 13, static_cast<unsigned>(time.hours().count()), 2);
  writeNumber(begin + 16, static_cast<unsigned>(time.minutes().count()), 2);
  writeNumber(begin + 19, static_cast<unsigned>(time.seconds().count()), 2);
  writeNumber(begin + 23, static_cast<unsigned>(time.subseconds().count()), 3);
}

}  // namespace vfiogate
