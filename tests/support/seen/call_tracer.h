#pragma once
// Runs a daemon with its filter taken out and notes what it would have done to each call.

#include "seccomp/rule.h"
#include "tests/support/seen/call_tally.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Of a program that the traced one started.
struct ProgramTally {
  CallTally own;
  CallTally forked;  ///< of the processes that it forked, all together
};

/// Of one run.
struct CallTrace {
  CallTally own;
  CallTally forked;  ///< of the processes that it forked, all together
  std::map<std::string, ProgramTally> started;
  int exitStatus = 0;  ///< as waitpid gives it
};

/// The table of a program and that of the processes that it forks; an empty one: they are not
/// followed.
struct ProgramTables {
  std::span<const Rule> own;
  std::span<const Rule> forked = {};
};

/// Of a program, and of those that its processes become, by the names of their files.
struct TracedTables {
  std::span<const Rule> own;
  std::span<const Rule> forked = {};
  std::map<std::string, ProgramTables> started = {};
};

/// Runs `command` to its end, following all its threads; the processes that it forks, and theirs,
/// only with a table of their own. When a process loads a seccomp filter, the kernel is not told,
/// and the process believes that it worked; from then on each call is compared with the table: rows
/// that answer an errno are played, all other calls are let through and counted. SIGTERM and SIGINT
/// sent to this process are passed on. Throws std::system_error.
CallTrace traceCalls(const std::vector<std::string>& command, const TracedTables& tables);

}  // namespace vfiogate::test
