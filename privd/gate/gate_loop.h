#pragma once
// The gate's loop: it waits in one place, for plugind, the kubelet's files, and the end.

#include "privd/gate/directory_watch.h"
#include "privd/gate/gate_channel.h"
#include "privd/gate/gate_service.h"
#include "privd/gate/plugind_dial.h"
#include "privd/sandbox/lasting_directories.h"

#include <kj/io.h>

#include <chrono>
#include <optional>

namespace vfiogate {

/// Serves one plugind at a time: dials it, and dials again when the channel is at its end.
class GateLoop {
public:
  using Clock = GateChannel::Clock;

  struct Deps {
    GateService& service;
    PlugindDial& plugind;
    DirectoryWatch& files;  ///< in which service.files() and plugind's socket come and go
    const LastingDirectories& lasting;
    int signals;       ///< becomes readable when this process is to end; borrowed
    int starter = -1;  ///< the same, of who started it; -1: nobody waits for it
  };

  explicit GateLoop(Deps deps);

  /// Why it is over: who started it left, a signal came, or a directory is of no use any more.
  struct End {
    std::optional<LastingDirectories::Lost> lost;
  };

  /// Waits until something comes or is due, at most `longest`, and does all that. Null: go on.
  [[nodiscard]] std::optional<End> turn(Clock::duration longest);

  /// Turns until the end, and hangs up.
  End run();

private:
  /// Files, or plugind's socket, may be others.
  void look(Clock::time_point now);
  void dial(Clock::time_point now);
  /// Hangs up where there is a reason to.
  void settle(const GateChannel::Reason& reason);
  void drop();
  Clock::duration pauseUntilDue(Clock::time_point now, Clock::duration longest) const;
  std::optional<End> doWhatIsDue(Clock::time_point now);

  Deps deps_;
  std::optional<GateChannel> channel_;
  Clock::time_point directoriesDue_;  ///< to look for those that are not there, or are lost
  Clock::time_point leftOutDue_;      ///< to tell of lines of the log
};

}  // namespace vfiogate
