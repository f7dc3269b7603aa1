#pragma once
// Runs a daemon with its filter taken out and notes what it would have done to each call.

#include "seccomp/rule.h"
#include "tests/support/seen/call_tally.h"

#include <span>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Of one run.
struct CallTrace {
  CallTally own;
  CallTally forked;    ///< of the processes that it forked, all together
  int exitStatus = 0;  ///< as waitpid gives it
};

/// Runs `command` to its end, following all its threads; the processes that it forks, and theirs,
/// only with a table of their own, which one of them loads for all. When a process loads a seccomp
/// filter, the kernel is not told, and the process believes that it worked; from then on each call
/// is compared with the table: rows that answer an errno are played, all other calls are let
/// through and counted. SIGTERM and SIGINT sent to this process are passed on. Throws
/// std::system_error.
CallTrace traceCalls(const std::vector<std::string>& command, std::span<const Rule> table,
                     std::span<const Rule> forkedTable = {});

}  // namespace vfiogate::test
