#pragma once
// How a line of a log is written, the same by all programs: time, level, event, then its fields.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vfiogate {

enum class LogForm : std::uint8_t { kLogfmt, kJson };

/// "logfmt" or "json"; null: another word.
std::optional<LogForm> logFormOf(std::string_view word);

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError, kCritical };

struct LogEntry {
  std::string_view key;
  std::string_view value;
};

/// Bytes of a line with its end: what a pipe takes whole or not at all (PIPE_BUF).
inline constexpr std::size_t kLongestLogLine = 4096;

/// `time=2026-11-23T21:55:01.250Z level=info event=NAME key=value ...`, or the same members in this
/// order as a JSON object whose values are all strings. In UTC; without the line's end. A value is
/// cut after 512 bytes; what is not printable ASCII is escaped, so that text from outside can
/// neither end the line nor begin a field. A field that would make the line longer than
/// kLongestLogLine is left out with those behind it, and the line ends with cut=true.
std::string logLineOf(LogForm form, std::chrono::system_clock::time_point now, LogLevel level,
                      std::string_view event, std::span<const LogEntry> entries);

/// Gives a line of logLineOf() another time. Allocates nothing: for whoever is out of memory, and
/// for signal handlers.
void restampLogLine(std::string& line, std::chrono::system_clock::time_point now);

}  // namespace vfiogate
