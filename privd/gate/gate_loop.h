#pragma once
// The gate's loop: it waits in one place, for the daemon, plugind, the kubelet's files and the end.

#include "privd/gate/directory_watch.h"
#include "privd/gate/gate_channel.h"
#include "privd/gate/gate_service.h"
#include "privd/sandbox/lasting_directories.h"

#include <kj/io.h>

#include <chrono>
#include <optional>

namespace vfiogate {

/// Serves one plugind at a time: the daemon hands each new channel over by its control socket, one
/// byte a packet with the channel's descriptor, and the one before is hung up on.
class GateLoop {
public:
  using Clock = GateChannel::Clock;

  struct Deps {
    GateService& service;
    DirectoryWatch& files;  ///< in which service.files() come and go
    const LastingDirectories& lasting;
    int control;  ///< the daemon's; borrowed
    int signals;  ///< becomes readable when this process is to end; borrowed
  };

  explicit GateLoop(Deps deps);

  /// Why it is over: the daemon left, a signal came, or a directory is of no use any more.
  struct End {
    std::optional<LastingDirectories::Lost> lost;
  };

  /// Waits until something comes or is due, at most `longest`, and does all that. Null: go on.
  [[nodiscard]] std::optional<End> turn(Clock::duration longest);

  /// Turns until the end, and hangs up.
  End run();

private:
  /// Something that is done again and again.
  struct Timer {
    Clock::duration pause;
    Clock::time_point due;
    /// True if it is due, which it is again after the pause.
    bool take(Clock::time_point now);
  };

  bool takeChannel();
  /// Hangs up where there is a reason to.
  void settle(const GateChannel::Reason& reason);
  void drop();
  Clock::duration pauseUntilDue(Clock::time_point now, Clock::duration longest) const;
  std::optional<End> doWhatIsDue(Clock::time_point now);

  Deps deps_;
  std::optional<GateChannel> channel_;
  Timer missing_;  ///< directories that are not there
  Timer lasting_;
  Timer leftOut_;  ///< lines of the log
};

}  // namespace vfiogate
