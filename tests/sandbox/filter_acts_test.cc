// The same acts under the filter alone, in a child that loads it and tries: needs neither root nor
// ptrace, so it runs where the injector cannot.

#include "seccomp/binder_rules.h"
#include "seccomp/daemon_rules.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/iommufd_rules.h"
#include "seccomp/load_filter.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/sanitizer_rules.h"
#include "tests/sandbox/forbidden_acts.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr int kNotLoaded = 255;

struct FilteredAct {
  Role role;
  ForbiddenAct act;
};
void PrintTo(const FilteredAct& row, std::ostream* out) {
  *out << row.act.name;
}

struct Loaded {
  std::string name;  ///< of the test instance
  std::span<const Rule> table;
};

Loaded loadedBy(Role role) {
  switch (role) {
    case Role::kDaemon:
      return {"Daemon", kDaemonRules};
    case Role::kHardware:
      return {"Hardware", kHardwareRules};
    case Role::kBinder:
      return {"Binder", kBinderRules};
    case Role::kIommufd:
      return {"Iommufd", kIommufdRules};
    case Role::kForkServer:
      return {"ForkServer", kForkServerRules};
    case Role::kGate:
      return {"Gate", kGateRules};
    case Role::kPlugind:
      return {"Plugind", kPlugindRules};
    case Role::kNetdDra:
      return {"NetdDra", kNetdDraRules};
    case Role::kNetdMetrics:
      break;
  }
  return {"NetdMetrics", kNetdMetricsRules};
}

std::vector<FilteredAct> filteredActs() {
  std::vector<FilteredAct> rows;
  for (const ForbiddenAct& act : forbiddenActs()) {
    if (act.call.entry != Entry::kSyscall) continue;  // for the injector and the BPF interpreter
    for (const Role role : kRoles) {
      if (act.fate(role)) rows.push_back({role, act});
    }
  }
  return rows;
}

[[noreturn]] void loadAndTry(std::span<const Rule> table, const ForeignCall& call) {
  if (loadFilter(table)) _exit(kNotLoaded);
  const auto& args = call.args;
  const long result =
      syscall(static_cast<long>(call.number), args[0], args[1], args[2], args[3], args[4], args[5]);
  _exit(result < 0 ? errno : 0);
}

CallOutcome outcomeOf(std::span<const Rule> table, const ForeignCall& call) {
  const pid_t child = fork();
  if (child == 0) loadAndTry(table, call);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return Killed{WTERMSIG(status)};
  return Returned{-WEXITSTATUS(status)};
}

class FilterAlone : public testing::TestWithParam<FilteredAct> {
protected:
  // Once for all children: each would need a moment of its own.
  static void SetUpTestSuite() { prepareSanitizers(); }
};

INSTANTIATE_TEST_SUITE_P(All, FilterAlone, testing::ValuesIn(filteredActs()), [](const auto& row) {
  return loadedBy(row.param.role).name + ("_" + std::string(row.param.act.name));
});

TEST_P(FilterAlone, StopsTheAct) {
  const auto& [role, act] = GetParam();
  const CallOutcome outcome = outcomeOf(loadedBy(role).table, act.call);
  const CallOutcome want = *act.fate(role);
  EXPECT_EQ(outcome, want) << "it " << str(outcome) << ", not " << str(want);
}

}  // namespace
}  // namespace vfiogate::test
