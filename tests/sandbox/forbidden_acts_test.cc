// Every forbidden act is done by the running, locked-down process itself, made to by ptrace.

#include "tests/sandbox/forbidden_acts.h"
#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/process_status.h"
#include "tests/support/syscall_injector.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::IsEmpty;

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

/// For what looks into, or holds, a process of another user that is not dumpable.
template <typename Parameter>
class AsRoot : public testing::TestWithParam<Parameter> {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

class ForbiddenActs : public AsRoot<Attempt> {};

INSTANTIATE_TEST_SUITE_P(All, ForbiddenActs, testing::ValuesIn(attempts()), [](const auto& row) {
  return row.param.daemon.name + "_" + std::string(row.param.act.name);
});

TEST_P(ForbiddenActs, AreNotCarriedOut) {
  const auto& [daemon, act] = GetParam();
  const CallOutcome want = *act.fate(daemon.role);
  RunningDaemon running(daemon);
  ASSERT_TRUE(running.ready()) << running.output();
  const CallOutcome outcome = running.inject(act.call);
  if (std::holds_alternative<NoSuchDoor>(outcome)) {
    GTEST_SKIP() << "this kernel runs no i386 calls at all: " << str(outcome);
  }
  EXPECT_EQ(outcome, want) << "it " << str(outcome) << ", not " << str(want);
}

class LockedDown : public AsRoot<DaemonUnderTest> {};

INSTANTIATE_TEST_SUITE_P(Daemons, LockedDown, testing::ValuesIn(daemonsUnderTest()),
                         [](const auto& row) { return row.param.name; });

TEST_P(LockedDown, NoThreadHasAnyPowerLeft) {
  const RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  EXPECT_THAT(lockdownFaults(running.pid()), IsEmpty());
}

TEST_P(LockedDown, EveryThreadIsTheUserThatItShouldBe) {
  const RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  EXPECT_THAT(identityFaults(running.pid(), GetParam().uid), IsEmpty());
}

TEST_P(LockedDown, HoldsNoFileAndIfItIsPlugindNoDirectory) {
  const RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  EXPECT_THAT(descriptorsOfKind(running.pid(), S_IFREG), IsEmpty());
  if (GetParam().role == Role::kPlugind) {
    EXPECT_THAT(descriptorsOfKind(running.pid(), S_IFDIR), IsEmpty());
  }
}

TEST_P(LockedDown, EveryThreadIsUnderTheFilter) {
  const ForeignCall act{SYS_memfd_create};
  RunningDaemon counted(GetParam());
  ASSERT_TRUE(counted.ready()) << counted.output();
  const std::size_t threads = threadStatuses(counted.pid()).size();
  for (std::size_t which = 0; which < threads; ++which) {
    RunningDaemon running(GetParam());
    ASSERT_TRUE(running.ready()) << running.output();
    const auto statuses = threadStatuses(running.pid());
    ASSERT_GT(statuses.size(), which);
    const pid_t thread = std::next(statuses.begin(), static_cast<std::ptrdiff_t>(which))->first;
    SyscallInjector injector(thread);
    EXPECT_EQ(injector.inject(act), CallOutcome(Killed{SIGSYS})) << "thread number " << which;
  }
}

TEST_P(LockedDown, AnAllowedActIsCarriedOutAndTheProcessGoesOn) {
  RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  EXPECT_EQ(running.inject({SYS_getpid}), CallOutcome(Returned{running.pid()}));
  EXPECT_EQ(running.inject({SYS_close, {~0ULL}}), CallOutcome(Returned{-EBADF}));
  EXPECT_FALSE(threadStatuses(running.pid()).empty()) << running.output();
}

}  // namespace
}  // namespace vfiogate::test
