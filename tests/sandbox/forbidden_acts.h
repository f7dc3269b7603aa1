#pragma once
// Acts that a taken-over daemon would like to do, and what must come of each: written from
// design.md, not from the tables in seccomp/.

#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/seen/syscall_injector.h"

#include <algorithm>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace vfiogate::test {

/// One act. Its arguments are such that even a process without a filter comes to no harm.
struct ForbiddenAct {
  std::string_view name;  ///< of the test instance: letters and digits
  ForeignCall call;
  CallOutcome outcome;                        ///< in each process that is not named here
  std::vector<Role> may = {};                 ///< these may do it
  std::optional<CallOutcome> inPlugind = {};  ///< none: as in the others

  /// None: it may do it.
  std::optional<CallOutcome> fate(Role role) const {
    if (std::ranges::find(may, role) != may.end()) return std::nullopt;
    return role == Role::kPlugind ? inPlugind.value_or(outcome) : outcome;
  }
};

/// All of them.
std::span<const ForbiddenAct> forbiddenActs();

/// For test parameters: the name.
void PrintTo(const ForbiddenAct& act, std::ostream* out);

}  // namespace vfiogate::test
