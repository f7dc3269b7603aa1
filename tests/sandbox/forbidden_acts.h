#pragma once
// Acts that a taken-over daemon would like to do, and what must come of each: written from
// design.md, not from the tables in seccomp/.

#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/seen/syscall_injector.h"

#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>

namespace vfiogate::test {

/// One act. Its arguments are such that even a process without a filter comes to no harm.
struct ForbiddenAct {
  std::string_view name;  ///< of the test instance: letters and digits
  ForeignCall call;
  std::optional<CallOutcome> privd;       ///< none: privd may do it
  std::optional<CallOutcome> gate;        ///< none: privd-gate may do it
  std::optional<CallOutcome> forkServer;  ///< none: privd's fork server may do it
  std::optional<CallOutcome> plugind;     ///< none: plugind may do it
  std::optional<CallOutcome> netd;        ///< none: `netd metrics` may do it
  std::optional<CallOutcome> netdDra;     ///< none: `netd dra` may do it

  const std::optional<CallOutcome>& fate(Role role) const {
    if (role == Role::kNetdMetrics) return netd;
    if (role == Role::kNetdDra) return netdDra;
    if (role == Role::kForkServer) return forkServer;
    if (role == Role::kGate) return gate;
    return role == Role::kPrivd ? privd : plugind;
  }
};

/// All of them.
std::span<const ForbiddenAct> forbiddenActs();

/// For test parameters: the name.
void PrintTo(const ForbiddenAct& act, std::ostream* out);

}  // namespace vfiogate::test
