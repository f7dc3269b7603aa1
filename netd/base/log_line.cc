#include "netd/base/log_line.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <string_view>

namespace vfiogate {
namespace {

struct Kind {
  spdlog::level::level_enum level;
  std::string_view name;
};

Kind kindOf(NetdEvent event) {
  switch (event) {
    case NetdEvent::kStarted:
      return {spdlog::level::info, "started"};
    case NetdEvent::kStartFailed:
      return {spdlog::level::err, "start_failed"};
    case NetdEvent::kNotRoot:
      return {spdlog::level::warn, "not_root"};
    case NetdEvent::kLimitLower:
      return {spdlog::level::warn, "limit_lower"};
    case NetdEvent::kOutOfMemory:
      return {spdlog::level::critical, "out_of_memory"};
    case NetdEvent::kPlugindAway:
      return {spdlog::level::warn, "plugind_away"};
    case NetdEvent::kPlugindBack:
      return {spdlog::level::info, "plugind_back"};
    case NetdEvent::kAttached:
      return {spdlog::level::info, "attached"};
    case NetdEvent::kDraOff:
      return {spdlog::level::warn, "dra_off"};
    case NetdEvent::kApiAway:
      return {spdlog::level::warn, "api_away"};
    case NetdEvent::kApiBack:
      return {spdlog::level::info, "api_back"};
    case NetdEvent::kApiRefuses:
      return {spdlog::level::err, "api_refuses"};
    case NetdEvent::kApiVersion:
      return {spdlog::level::info, "api_version"};
    case NetdEvent::kPoolStored:
      return {spdlog::level::info, "pool_stored"};
    case NetdEvent::kPoolTroubled:
      return {spdlog::level::warn, "pool_troubled"};
    case NetdEvent::kAcceptFailed:
      return {spdlog::level::err, "accept_failed"};
    case NetdEvent::kTaskFailed:
      return {spdlog::level::err, "task_failed"};
    case NetdEvent::kEnding:
      return {spdlog::level::info, "ending"};
  }
  return {spdlog::level::err, "unknown"};
}

}  // namespace

void netdLog(NetdEvent event, LogFields fields) {
  const Kind kind = kindOf(event);
  spdlog::log(kind.level, logText(kind.name, fields));
}

void startNetdLog() {
  // Even gmtime reads the time zone first; afterwards it could not.
  tzset();
  // Not the coloured sink: it asks whether this is a terminal, which the filter forbids.
  startLogAt(std::make_shared<spdlog::sinks::stderr_sink_mt>());
}

}  // namespace vfiogate
