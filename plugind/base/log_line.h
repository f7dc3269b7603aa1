#pragma once
// plugind's log: its events, at the pace and to the reader that are left to it.

#include "plugind/base/log_events.h"
#include "rootless/log_text.h"

#include <string>

namespace vfiogate {

/// The line of now, with its time and level.
std::string logLine(LogLevel level, LogEvent event, LogFields fields);

/// Any thread. Before startLog() nothing is written.
void logInfo(LogEvent event, LogFields fields = {});
void logWarning(LogEvent event, LogFields fields = {});
void logError(LogEvent event, LogFields fields = {});

/// Sends the log to standard error. Call once, before the process is locked down.
void startLog(LogForm form);

}  // namespace vfiogate
