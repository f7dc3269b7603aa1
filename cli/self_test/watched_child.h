#pragma once
// A child that comes under a filter, watched: where the kernel kills it for a call, the call is
// known by name.

#include "ipc/base/result.h"
#include "seccomp/rule.h"

#include <kj/function.h>

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

namespace vfiogate {

/// A call for which the kernel killed its process.
struct KilledCall {
  std::string name;     ///< "openat", or its number where no name is known
  long number;          ///< as the architecture counts
  bool forked = false;  ///< by a process that the child had forked
};

struct ChildEnd {
  int status = 0;  ///< as waitpid() gives it
  std::string said;
  std::optional<KilledCall> killed;  ///< the first one
  bool watched = true;               ///< false: the kernel lets nobody trace, so no call has a name
};

/// Runs `body` in a child, whose standard output is `said` (at most what a pipe holds), to the end
/// of the child and of all that it forked; `body` should end with _exit(). The filter is the one
/// that is shipped: the last call that each process begins is noted, by ptrace, before the filter
/// judges it. Only for a process with one thread and without children. Error: the errno of a pipe
/// or fork.
Result<ChildEnd, int> watchChild(kj::FunctionParam<void()> body);

/// The same for a child that has threads: of the calls that they were in, `filter` judges for which
/// it was killed. `began` is told the child's process.
Result<ChildEnd, int> watchThreads(kj::FunctionParam<void()> body, std::span<const Rule> filter,
                                   kj::FunctionParam<void(pid_t)> began);

/// What is read from `fd` (borrowed) until its end.
std::string readAll(int fd);

}  // namespace vfiogate
