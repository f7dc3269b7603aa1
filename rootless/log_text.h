#pragma once
// One event a line on standard error, as ipc/base/log_format.h has it.

#include "ipc/base/log_format.h"

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace spdlog::sinks {
class sink;
}

namespace vfiogate {

/// One key=value.
struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : LogField(name, std::string_view(text)) {}
  LogField(std::string_view name, const std::string& text)
      : LogField(name, std::string_view(text)) {}
  template <std::integral Number>
  LogField(std::string_view name, Number number) : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

using LogFields = std::initializer_list<LogField>;

/// The line of now without its end, in the form that startLogAt() was told.
std::string logText(LogLevel level, std::string_view event, LogFields fields);

/// spdlog's lines go to `sink` as they are. Before that nothing is written. Call once, before the
/// process is locked down.
void startLogAt(std::shared_ptr<spdlog::sinks::sink> sink, LogForm form);

}  // namespace vfiogate
