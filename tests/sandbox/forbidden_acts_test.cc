// Every forbidden act is done by the running, locked-down process itself, made to by ptrace.

#include "tests/sandbox/forbidden_acts.h"
#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/seen/syscall_injector.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace vfiogate::test {
namespace {

/// A program, and an act that is forbidden to it.
struct Attempt {
  DaemonUnderTest daemon;
  ForbiddenAct act;
};
void PrintTo(const Attempt& attempt, std::ostream* out) {
  *out << attempt.act.name << " by " << attempt.daemon.name;
}

std::vector<Attempt> attempts() {
  std::vector<Attempt> all;
  for (const DaemonUnderTest& daemon : daemonsUnderTest()) {
    for (const ForbiddenAct& act : forbiddenActs()) {
      if (act.fate(daemon.role)) all.push_back({daemon, act});
    }
  }
  return all;
}

class ForbiddenActs : public testing::TestWithParam<Attempt> {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to hold the daemons by ptrace";
  }
};

INSTANTIATE_TEST_SUITE_P(All, ForbiddenActs, testing::ValuesIn(attempts()), [](const auto& row) {
  return row.param.daemon.name + "_" + std::string(row.param.act.name);
});

TEST(ForbiddenActsList, HasAHundredForEachProcess) {
  for (const DaemonUnderTest& daemon : daemonsUnderTest()) {
    const auto forbidden = std::ranges::count_if(
        forbiddenActs(),
        [&daemon](const ForbiddenAct& act) { return act.fate(daemon.role).has_value(); });
    EXPECT_GE(forbidden, 100) << daemon.name;
  }
}

TEST_P(ForbiddenActs, AreNotCarriedOut) {
  const auto& [daemon, act] = GetParam();
  const CallOutcome want = *act.fate(daemon.role);
  RunningDaemon running(daemon);
  ASSERT_TRUE(running.ready()) << running.output();
  const CallOutcome outcome = running.inject(act.call);
  if (std::holds_alternative<NoSuchEntry>(outcome)) {
    GTEST_SKIP() << "this kernel runs no i386 calls at all: " << str(outcome);
  }
  EXPECT_EQ(outcome, want) << "it " << str(outcome) << ", not " << str(want);
}

}  // namespace
}  // namespace vfiogate::test
