#include "netd/base/log_line.h"

#include "rootless/paced_log.h"

#include <ctime>
#include <string_view>

namespace vfiogate {
namespace {

struct Kind {
  LogLevel level;
  std::string_view name;
};

Kind kindOf(NetdEvent event) {
  switch (event) {
    case NetdEvent::kStarted:
      return {LogLevel::kInfo, "started"};
    case NetdEvent::kStartFailed:
      return {LogLevel::kError, "start_failed"};
    case NetdEvent::kNotRoot:
      return {LogLevel::kWarning, "not_root"};
    case NetdEvent::kLimitLower:
      return {LogLevel::kWarning, "limit_lower"};
    case NetdEvent::kOutOfMemory:
      return {LogLevel::kCritical, "out_of_memory"};
    case NetdEvent::kPlugindAway:
      return {LogLevel::kWarning, "plugind_away"};
    case NetdEvent::kPlugindBack:
      return {LogLevel::kInfo, "plugind_back"};
    case NetdEvent::kAttached:
      return {LogLevel::kInfo, "attached"};
    case NetdEvent::kDraOff:
      return {LogLevel::kWarning, "dra_off"};
    case NetdEvent::kApiAway:
      return {LogLevel::kWarning, "api_away"};
    case NetdEvent::kApiBack:
      return {LogLevel::kInfo, "api_back"};
    case NetdEvent::kApiRefuses:
      return {LogLevel::kError, "api_refuses"};
    case NetdEvent::kApiVersion:
      return {LogLevel::kInfo, "api_version"};
    case NetdEvent::kPoolStored:
      return {LogLevel::kInfo, "pool_stored"};
    case NetdEvent::kPoolTroubled:
      return {LogLevel::kWarning, "pool_troubled"};
    case NetdEvent::kAcceptFailed:
      return {LogLevel::kError, "accept_failed"};
    case NetdEvent::kTaskFailed:
      return {LogLevel::kError, "task_failed"};
    case NetdEvent::kEnding:
      return {LogLevel::kInfo, "ending"};
    case NetdEvent::kLinesLeftOut:
      return {LogLevel::kWarning, "lines_left_out"};
  }
  return {LogLevel::kError, "unknown"};
}

std::string_view nameOf(std::size_t event) {
  return kindOf(static_cast<NetdEvent>(event)).name;
}

PacedLog& pacedLog() {
  constexpr auto kLast = static_cast<std::size_t>(NetdEvent::kLinesLeftOut);
  static PacedLog log({kLast + 1, nameOf, nameOf(kLast)});
  return log;
}

}  // namespace

std::string netdLine(NetdEvent event, LogFields fields) {
  const Kind kind = kindOf(event);
  return logText(kind.level, kind.name, fields);
}

void netdLog(NetdEvent event, LogFields fields) {
  pacedLog().tell(kindOf(event).level, static_cast<std::size_t>(event), fields);
}

void startNetdLog(LogForm form) {
  // Even gmtime reads the time zone first; afterwards it could not.
  tzset();
  pacedLog().start(form, Output::kNowhere);
}

}  // namespace vfiogate
