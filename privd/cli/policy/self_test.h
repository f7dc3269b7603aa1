#pragma once
// `privd policy --self-test`: whether the daemon can live under its filters with this kernel and
// these libraries.

#include "seccomp/privd_rules.h"

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace vfiogate {

struct SelfTest {
  std::vector<std::string> steps;  ///< those that were begun; where it failed: the last one
  std::string log;                 ///< what privd logged meanwhile
  std::string failure;             ///< for people; empty: all paths were gone to their end
  std::string killedCall;  ///< the first call that a filter killed for; empty: none, or unknown
  long killedNumber = -1;  ///< its number; -1: none
};

/// Goes the daemon's main paths in a child of its own, which touches nothing but a directory for
/// temporary files. `table` is privd's own; only tests have others.
SelfTest runSelfTest(std::span<const Rule> table = kPrivdRules);

/// "text" or "json".
std::string selfTestAs(const std::string& form, const SelfTest& test);

}  // namespace vfiogate
