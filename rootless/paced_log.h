#pragma once
// The log of plugind and of netd: each event at a pace, and no reader holds the process up.

#include "ipc/base/line_allowance.h"
#include "rootless/log_text.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Of one program's log: their numbers are those below `count`.
struct EventNames {
  std::size_t count;
  std::string_view (*nameOf)(std::size_t event);
  /// Says that lines of another one are missing.
  std::string_view linesLeftOut;
};

/// Where standard output goes.
enum class Output : std::uint8_t {
  kNowhere,
  kRecord,  ///< not a line of it may be lost
};

class PacedLog {
public:
  explicit PacedLog(const EventNames& events);

  /// Sends the log to standard error. Call once, before the process is locked down. From now on a
  /// reader that reads nothing costs lines, which are counted, and not the process: where standard
  /// error is a pipe or a socket, and no record goes there, too.
  void start(LogForm form, Output output);

  /// Any thread. Writes the line within its event's allowance; what was left out before it, of
  /// whatever event, is told first. Before start() nothing is written.
  void tell(LogLevel level, std::size_t event, LogFields fields);

private:
  struct LeftOut {
    std::size_t event;
    std::uint64_t count;
  };

  /// Null: this line is left out. Else what was left out before it.
  std::optional<std::vector<LeftOut>> take(std::size_t event);

  const EventNames events_;
  std::mutex mutex_;
  std::vector<LineAllowance> allowances_;
};

}  // namespace vfiogate
