#pragma once
// One event per line on standard error: time=... level=... event=NAME key=value ...

#include "plugind/base/log_events.h"

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace vfiogate {

/// One key=value. Text that is not plainly one word is quoted, escaped and cut, whoever wrote it.
struct LogField {
  LogField(std::string_view name, std::string_view text);
  LogField(std::string_view name, const char* text) : LogField(name, std::string_view(text)) {}
  LogField(std::string_view name, const std::string& text)
      : LogField(name, std::string_view(text)) {}
  template <std::integral Number>
  LogField(std::string_view name, Number number) : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

using LogFields = std::initializer_list<LogField>;

/// "event=NAME key=value ...", without time and level.
std::string logLine(LogEvent event, LogFields fields);

/// Any thread. Before startLog() nothing is written.
void logInfo(LogEvent event, LogFields fields = {});
void logWarning(LogEvent event, LogFields fields = {});
void logError(LogEvent event, LogFields fields = {});

/// Sends the log to standard error, times in UTC. Call once, before the process is locked down.
void startLog();

}  // namespace vfiogate
