// The probes themselves: a probe that finds every process locked down proves nothing.

#include "seccomp/binder_rules.h"
#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/seen/call_tracer.h"
#include "tests/support/seen/reduced_table.h"
#include "tests/support/seen/syscall_injector.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<std::string> standIn(const std::string& role) {
  return {standInProgram(), role};
}

std::size_t rowOf(int number) {
  return static_cast<std::size_t>(rowFor(kBinderRules, number) - kBinderRules.begin());
}

constexpr int kDiedOf = 128;  // as ChildProcess says it

class Probes : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(Probes, CarryCallsOutInAProcessWithoutAFilter) {
  ChildProcess open(standIn("open"));
  ASSERT_TRUE(open.says("ready")) << open.output();
  for (int again = 0; again < 3; ++again) {
    SyscallInjector injector(open.pid());
    EXPECT_EQ(injector.inject({SYS_getpid}), CallOutcome(Returned{open.pid()}));
    EXPECT_EQ(injector.inject({SYS_open}), CallOutcome(Returned{-EFAULT}));
    EXPECT_EQ(injector.inject({SYS_bpf, {~0ULL}}), CallOutcome(Returned{-EINVAL}));
  }
}

TEST_F(Probes, LeaveTheProcessInTheWaitThatTheyInterrupted) {
  ChildProcess open(standIn("open"));
  ASSERT_TRUE(open.says("ready")) << open.output();
  { EXPECT_EQ(SyscallInjector(open.pid()).inject({SYS_getppid}), CallOutcome(Returned{getpid()})); }
  open.signal(SIGTERM);
  EXPECT_EQ(open.wait(), kDiedOf + SIGTERM) << "it ended before it was told to";
}

TEST_F(Probes, FindFaultWithAProcessThatIsNotLockedDown) {
  ChildProcess open(standIn("open"));
  ASSERT_TRUE(open.says("ready")) << open.output();
  const auto faults = lockdownFaults(open.pid());
  EXPECT_THAT(faults, Contains(HasSubstr("CapEff is ")));
  EXPECT_THAT(faults, Contains(HasSubstr("NoNewPrivs is 0, not 1")));
  EXPECT_THAT(faults, Contains(HasSubstr("Seccomp is 0, not 2")));
  EXPECT_THAT(identityFaults(open.pid(), 64532), Contains(HasSubstr("Uid is 0\t0\t0\t0, not")));
  EXPECT_THAT(descriptorsOfKind(open.pid(), {S_IFCHR}), Contains("descriptor 0 is /dev/null"));
}

TEST_F(Probes, FindFaultWithAProcessThatIsGone) {
  ChildProcess open(standIn("open"));
  open.signal(SIGKILL);
  open.wait();
  EXPECT_THAT(lockdownFaults(open.pid()), Contains(HasSubstr("is gone")));
}

TEST_F(Probes, CountTheUsesOfEachRow) {
  const CallTrace trace = traceCalls(standIn("brief"), {.own = kBinderRules});
  const CallTally& tally = trace.own;
  ASSERT_TRUE(tally.filterLoaded);
  EXPECT_EQ(trace.exitStatus, 0);
  EXPECT_EQ(tally.rowUses[rowOf(SYS_write)].count, 1U);
  EXPECT_EQ(tally.rowUses[rowOf(SYS_exit_group)].count, 1U);
  EXPECT_EQ(tally.rowUses[rowOf(SYS_connect)].count, 0U);
  EXPECT_TRUE(tally.unlisted.empty()) << str(tally, kBinderRules);
}

TEST_F(Probes, NameTheCallsThatHaveNoRow) {
  const auto table = withoutRow(kBinderRules, rowOf(SYS_write));
  const CallTally tally = traceCalls(standIn("brief"), {.own = table}).own;
  ASSERT_TRUE(tally.unlisted.contains(SYS_write));
  EXPECT_EQ(tally.unlisted.at(SYS_write).firstArgs[0], std::uint64_t{STDOUT_FILENO});
  EXPECT_THAT(str(tally, table), HasSubstr("1  write  NO ROW"));
}

TEST(CallTally, TellsARowThatIsNeededFromOneThatAnotherMakesNeedless) {
  constexpr std::array kRead{Rule{SCMP_SYS(read), intIs(0, 5, "fd is 5"), "one"},
                             Rule{SCMP_SYS(read), without(0, 8, "fd without 8"), "others"}};
  CallTally tally{.filterLoaded = true,
                  .rowUses = {{1, SCMP_SYS(read), {5}}, {1, SCMP_SYS(read), {6}}},
                  .unlisted = {}};
  EXPECT_FALSE(isNeededWhereUsed(tally, kRead, 0));
  EXPECT_TRUE(isNeededWhereUsed(tally, kRead, 1));
  EXPECT_THAT(str(tally, kRead), HasSubstr("fd is 5  NEEDLESS\n"));
  tally.rowUses[1].count = 0;
  EXPECT_THAT(str(tally, kRead), HasSubstr("fd without 8  UNUSED\n"));
}

TEST_F(Probes, ShowThatARowIsNeededByDyingWithoutIt) {
  const auto exitCodeWithout = [](std::size_t row) {
    auto command = standIn("brief");
    command.push_back(std::to_string(row));
    return ChildProcess(command).wait();
  };
  EXPECT_EQ(exitCodeWithout(rowOf(SYS_write)), kDiedOf + SIGSYS);
  EXPECT_EQ(exitCodeWithout(rowOf(SYS_connect)), 0);
}

}  // namespace
}  // namespace vfiogate::test
