#pragma once
// A program in a child under its filter, and who watches it.

#include "cli/self_test/self_test.h"

#include <kj/function.h>
#include <kj/io.h>

#include <sys/types.h>

#include <span>

namespace vfiogate {

/// Serves in a child, which a process of its own watches: what serves has had no thread, and what
/// watches waits for all its children. Ended when destroyed.
class WatchedProgram {
public:
  /// Calls `serves` there, which comes under `filter` and whose result is the exit code. Throws
  /// where there can be no process.
  WatchedProgram(std::span<const Rule> filter, kj::FunctionParam<int()> serves);
  ~WatchedProgram();
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;

  /// True when it has ended. Any thread, until stop().
  bool isOver() const;
  /// Ends it, where it has not ended by itself, and adds to `test` how it ended and what it logged.
  void stop(SelfTest& test);

private:
  void readPid();

  pid_t watcher_ = -1;  ///< -1: it is over
  pid_t program_ = -1;  ///< -1: it was never there
  kj::AutoCloseFd tells_;
};

}  // namespace vfiogate
