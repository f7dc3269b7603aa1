#include "plugind/base/log_line.h"

#include "ipc/base/line_allowance.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace vfiogate {
namespace {

/// What the log may have of each event, for all threads.
class Pace {
public:
  struct LeftOut {
    LogEvent event;
    std::uint64_t count;
  };

  /// Null: this line is left out. Else what was left out before it, of whatever event.
  std::optional<std::vector<LeftOut>> take(LogEvent event) {
    const std::lock_guard lock(mutex_);
    if (!allowances_.at(static_cast<std::size_t>(event)).take(std::chrono::steady_clock::now())) {
      return std::nullopt;
    }
    std::vector<LeftOut> leftOut;
    for (std::size_t i = 0; i < kLogEvents; ++i) {
      const std::uint64_t count = allowances_.at(i).takeLeftOut();
      if (count != 0) leftOut.push_back({static_cast<LogEvent>(i), count});
    }
    return leftOut;
  }

private:
  std::mutex mutex_;
  std::array<LineAllowance, kLogEvents> allowances_;
};

void tell(LogLevel level, LogEvent event, LogFields fields) {
  static Pace pace;
  const auto before = pace.take(event);
  if (!before) return;
  for (const Pace::LeftOut& one : *before) {
    spdlog::info(logLine(LogLevel::kWarning, LogEvent::kLinesLeftOut,
                         {{"of", eventName(one.event)}, {"count", one.count}}));
  }
  // The level is in the line: to spdlog all are one.
  spdlog::info(logLine(level, event, fields));
}

/// Standard error. A reader that reads nothing costs lines, which are counted, and holds nobody up.
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (unread_ != 0) {
      const std::string told =
          logLine(LogLevel::kWarning, LogEvent::kLinesLeftOut, {{"of", "all"}, {"count", unread_}});
      if (write({message.time, {}, message.logger_name, message.level, told})) unread_ = 0;
    }
    if (!write(message)) ++unread_;
  }
  void flush_() override {}

private:
  /// Whole or not at all.
  bool write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    static_assert(kLongestLogLine <= PIPE_BUF);
    formatter_->format(message, line);
    return ::write(STDERR_FILENO, line.data(), line.size()) >= 0;
  }

  std::uint64_t unread_ = 0;
};

/// Of a terminal others would find their end changed, too; and where the journal goes the same way,
/// no line of that may be lost.
void neverWaitForLogReader() {
  struct stat log = {};
  struct stat journal = {};
  if (fstat(STDERR_FILENO, &log) != 0 || fstat(STDOUT_FILENO, &journal) != 0) return;
  if (!S_ISFIFO(log.st_mode) && !S_ISSOCK(log.st_mode)) return;
  if (log.st_dev == journal.st_dev && log.st_ino == journal.st_ino) return;
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  if (flags >= 0) fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
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
  neverWaitForLogReader();
  startLogAt(std::make_shared<StandardError>(), form);
}

}  // namespace vfiogate
