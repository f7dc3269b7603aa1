#include "plugind/base/log_line.h"

#include "rootless/paced_log.h"

namespace vfiogate {
namespace {

PacedLog& pacedLog() {
  static PacedLog log({kLogEvents,
                       [](std::size_t event) { return eventName(static_cast<LogEvent>(event)); },
                       eventName(LogEvent::kLinesLeftOut)});
  return log;
}

void tell(LogLevel level, LogEvent event, LogFields fields) {
  pacedLog().tell(level, static_cast<std::size_t>(event), fields);
}

}  // namespace

std::string logLine(LogLevel level, LogEvent event, LogFields fields) {
  return logText(level, eventName(event), fields);
}

void logInfo(LogEvent event, LogFields fields) {
  tell(LogLevel::kInfo, event, fields);
}

void logWarning(LogEvent event, LogFields fields) {
  tell(LogLevel::kWarning, event, fields);
}

void logError(LogEvent event, LogFields fields) {
  tell(LogLevel::kError, event, fields);
}

void startLog(LogForm form) {
  pacedLog().start(form, Output::kRecord);
}

}  // namespace vfiogate
