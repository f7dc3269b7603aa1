#pragma once
// One event a line on standard error: time=... level=... event=NAME key=value ...

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace spdlog::sinks {
class sink;
}

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
std::string logText(std::string_view event, LogFields fields);

/// spdlog's lines go to `sink`, times in UTC. Before that nothing is written. Call once, before the
/// process is locked down.
void startLogAt(std::shared_ptr<spdlog::sinks::sink> sink);

}  // namespace vfiogate
