#include "rootless/log_text.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

namespace vfiogate {
namespace {

LogForm& logForm() {
  static LogForm form = LogForm::kLogfmt;
  return form;
}

}  // namespace

std::string logText(LogLevel level, std::string_view event, LogFields fields) {
  std::vector<LogEntry> entries;
  for (const LogField& field : fields) entries.push_back({field.key, field.value});
  return logLineOf(logForm(), std::chrono::system_clock::now(), level, event, entries);
}

void startLogAt(std::shared_ptr<spdlog::sinks::sink> sink, LogForm form) {
  logForm() = form;
  auto logger = std::make_shared<spdlog::logger>("", std::move(sink));
  logger->set_pattern("%v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace vfiogate
