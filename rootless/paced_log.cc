#include "rootless/paced_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <memory>

namespace vfiogate {
namespace {

/// What finds no room there is counted.
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
public:
  explicit StandardError(std::string_view linesLeftOut) : linesLeftOut_(linesLeftOut) {}

protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (unread_ != 0) {
      const std::string told =
          logText(LogLevel::kWarning, linesLeftOut_, {{"of", "all"}, {"count", unread_}});
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

  const std::string_view linesLeftOut_;
  std::uint64_t unread_ = 0;
};

/// Of a terminal others would find their end changed, too.
void neverWaitForLogReader(Output output) {
  struct stat log = {};
  struct stat record = {};
  if (fstat(STDERR_FILENO, &log) != 0) return;
  if (!S_ISFIFO(log.st_mode) && !S_ISSOCK(log.st_mode)) return;
  if (output == Output::kRecord) {
    if (fstat(STDOUT_FILENO, &record) != 0) return;
    if (log.st_dev == record.st_dev && log.st_ino == record.st_ino) return;
  }
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  if (flags >= 0) fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace

PacedLog::PacedLog(const EventNames& events) : events_(events), allowances_(events.count) {}

void PacedLog::start(LogForm form, Output output) {
  neverWaitForLogReader(output);
  startLogAt(std::make_shared<StandardError>(events_.linesLeftOut), form);
}

void PacedLog::tell(LogLevel level, std::size_t event, LogFields fields) {
  const auto before = take(event);
  if (!before) return;
  for (const LeftOut& one : *before) {
    spdlog::info(logText(LogLevel::kWarning, events_.linesLeftOut,
                         {{"of", events_.nameOf(one.event)}, {"count", one.count}}));
  }
  // The level is in the line: to spdlog all are one.
  spdlog::info(logText(level, events_.nameOf(event), fields));
}

std::optional<std::vector<PacedLog::LeftOut>> PacedLog::take(std::size_t event) {
  const std::lock_guard lock(mutex_);
  if (!allowances_.at(event).take(std::chrono::steady_clock::now())) return std::nullopt;
  std::vector<LeftOut> leftOut;
  for (std::size_t i = 0; i < allowances_.size(); ++i) {
    const std::uint64_t count = allowances_[i].takeLeftOut();
    if (count != 0) leftOut.push_back({i, count});
  }
  return leftOut;
}

}  // namespace vfiogate
