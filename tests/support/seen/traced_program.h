#pragma once
// A program that is stopped at each of its system calls.

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Runs under ptrace with all its threads and all that they fork. SIGTERM and SIGINT that are sent
/// to this process meanwhile are passed on, and no handler is needed for that: ThreadSanitizer
/// calls one only when a call of the program returns. No other thread may take SIGCHLD.
class TracedProgram {
public:
  /// Throws std::system_error where nothing can be forked.
  explicit TracedProgram(const std::vector<std::string>& command);
  ~TracedProgram();
  TracedProgram(const TracedProgram&) = delete;
  TracedProgram& operator=(const TracedProgram&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits for a thread that stopped or ended, with its `status` as waitpid gives it. 0: all have
  /// ended.
  pid_t next(int& status) const;

private:
  sigset_t waited_{};
  sigset_t before_{};
  pid_t pid_ = 0;
};

}  // namespace vfiogate::test
