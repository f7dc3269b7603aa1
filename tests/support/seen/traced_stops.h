#pragma once
// The stops of a traced program, and the signals that end it.

#include <sys/types.h>

#include <csignal>

namespace vfiogate::test {

/// What the processes that this thread traces do, one after the other. SIGTERM and SIGINT that are
/// sent to this process meanwhile are passed on, and no handler is needed for that: ThreadSanitizer
/// calls one only when a call of the program returns. No other thread may take SIGCHLD.
class TracedStops {
public:
  /// Before the program is forked, so that none of its signals is lost.
  TracedStops();
  ~TracedStops();
  TracedStops(const TracedStops&) = delete;
  TracedStops& operator=(const TracedStops&) = delete;

  /// In the forked process: it gets its signals as this one got them before.
  void leave() const;

  /// Waits for a thread that stopped or ended, with its `status` as waitpid gives it. Signals are
  /// passed on to `program`. 0: all have ended.
  pid_t next(pid_t program, int& status) const;

private:
  sigset_t waited_{};
  sigset_t before_{};
};

}  // namespace vfiogate::test
