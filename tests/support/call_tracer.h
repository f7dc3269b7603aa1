#pragma once
// Runs a daemon with its filter taken out and notes what it would have done to each call: the tool
// for tuning a table, and the proof that a row is used.

#include "seccomp/rule.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vfiogate::test {

/// How often a call without a row was made, and the arguments of the first.
struct UnlistedCall {
  std::size_t count = 0;
  std::array<std::uint64_t, 6> firstArgs{};
};

/// What a process did after it would have been under the filter.
struct CallTally {
  bool filterLoaded = false;                      ///< false: the rest is empty
  std::vector<std::size_t> rowUses;               ///< per row of the table
  std::map<std::int64_t, UnlistedCall> unlisted;  ///< by number; each would have killed
  int exitStatus = 0;                             ///< as waitpid gives it
};

/// Runs `command` to its end, following all its threads (processes that it forks are let alone).
/// When it loads a seccomp filter, the kernel is not told, and the process believes that it worked;
/// from then on each call is compared with `table`: rows that answer an errno are played, all other
/// calls are let through and counted. SIGTERM and SIGINT sent to this process are passed on. Throws
/// std::system_error.
CallTally traceCalls(const std::vector<std::string>& command, std::span<const Rule> table);

/// For people: each row with its uses, then the calls without a row.
std::string str(const CallTally& tally, std::span<const Rule> table);

}  // namespace vfiogate::test
