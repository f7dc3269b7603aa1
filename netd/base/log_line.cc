#include "netd/base/log_line.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestValue = 512;
constexpr std::string_view kHexDigits = "0123456789abcdef";

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

void appendQuoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text.substr(0, kLongestValue)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += {'\\', c};
    } else if (byte >= 0x20 && byte < 0x7f) {
      line += c;
    } else {
      line += {'\\', 'x', kHexDigits[byte >> 4U], kHexDigits[byte & 0xfU]};
    }
  }
  line += text.size() > kLongestValue ? "...\"" : "\"";
}

}  // namespace

void netdLog(NetdEvent event, std::initializer_list<NetdField> fields) {
  const Kind kind = kindOf(event);
  std::string line = "event=" + std::string(kind.name);
  for (const NetdField& field : fields) {
    line.append(" ").append(field.key).append("=");
    appendQuoted(line, field.text);
  }
  spdlog::log(kind.level, line);
}

void startNetdLog() {
  // Even gmtime reads the time zone first; afterwards it could not.
  tzset();
  // Not the coloured sink: it asks whether this is a terminal, which the filter forbids.
  auto logger =
      std::make_shared<spdlog::logger>("netd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace vfiogate
