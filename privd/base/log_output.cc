#include "privd/base/log_line.h"

#include "ipc/base/line_allowance.h"
#include "seccomp/resource_limits.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>

namespace vfiogate {
inline namespace privd_log {
namespace {

using Allowances = std::array<LineAllowance, static_cast<std::size_t>(LogEvent::kLinesLeftOut) + 1>;

/// Of this process, whose stderr is one, too.
Allowances& allowances() {
  static Allowances all;
  return all;
}

std::optional<LogForm>& logForm() {
  static std::optional<LogForm> form = LogForm::kLogfmt;
  return form;
}

/// Only where there is a form. False: there was no room for it. A line above PIPE_BUF could be
/// written in part; none is.
bool writeLine(LogEvent event, kj::ArrayPtr<const LogField> fields) {
  static_assert(kLongestLogLine <= PIPE_BUF);
  const std::string line = formatLine(*logForm(), event, fields) + "\n";
  return write(STDERR_FILENO, line.data(), line.size()) >= 0;
}

void tellLeftOutOf(LogEvent event, LineAllowance& allowance) {
  const std::uint64_t count = allowance.takeLeftOut();
  if (count == 0) return;
  const LogField fields[] = {{"of", kj::str(eventName(event))}, {"count", kj::str(count)}};
  if (writeLine(LogEvent::kLinesLeftOut, fields)) return;
  allowance.leaveOut(count);
}

}  // namespace

void useLogForm(std::optional<LogForm> form) {
  logForm() = form;
}

void logLine(LogEvent event, std::initializer_list<LogField> fields) {
  LineAllowance& allowance = allowances().at(static_cast<std::size_t>(event));
  if (!logForm() || !allowance.take(std::chrono::steady_clock::now())) return;
  tellLeftOutOf(event, allowance);
  if (!writeLine(event, kj::arrayPtr(fields.begin(), fields.size()))) allowance.leaveOut(1);
}

void tellLeftOut() {
  for (std::size_t i = 0; i < allowances().size(); ++i) {
    tellLeftOutOf(static_cast<LogEvent>(i), allowances().at(i));
  }
}

void beginLog(LogForm form) {
  useLogForm(form);
  endWithoutMemory(formatLine(form, LogEvent::kOutOfMemory, nullptr) + "\n", restampLogLine);
  struct stat status = {};
  const bool known = fstat(STDERR_FILENO, &status) == 0;
  // Of a terminal others would find their end changed, too.
  if (!known || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return;
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  if (flags >= 0) fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
}

void tellLower(const LowerLimit& lower) {
  logLine(LogEvent::kLimitLower, {{"what", lower.what},
                                  {"wanted", kj::str(lower.wanted)},
                                  {"allowed", kj::str(lower.allowed)}});
}

bool isInotifyUsedUp(int error) {
  return error == ENOSPC || error == EBADF || error == ENOMEM;
}

void tellUnwatched(int error, std::string_view directory) {
  logLine(isInotifyUsedUp(error) ? LogEvent::kDirectoryUnwatched : LogEvent::kDirectoryMissing,
          {{"directory", std::string(directory)}});
}

}  // namespace privd_log
}  // namespace vfiogate
