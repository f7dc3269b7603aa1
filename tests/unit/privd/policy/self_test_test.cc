#include "privd/cli/policy/self_test.h"

#include "cli/self_test/watched_child.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/load_filter.h"
#include "sim/base/temp_dir.h"
#include "tests/support/seen/reduced_table.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace vfiogate {
namespace {

std::size_t filesIn(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

class SelfTestCase : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }

  template <typename Table>
  static std::vector<Rule> without(const Table& table, int syscall) {
    const auto* const row = test::rowFor(table, syscall);
    return test::withoutRow(table, static_cast<std::size_t>(row - table.begin()));
  }
};

TEST_F(SelfTestCase, PassesUnderTheShippedFiltersAndLeavesNothing) {
  const TempDir place;
  setenv("TMPDIR", place.path().c_str(), 1);
  const SelfTest test = runSelfTest();
  unsetenv("TMPDIR");
  EXPECT_EQ(test.failure, "") << test.log;
  EXPECT_EQ(test.killedCall, "");
  EXPECT_GT(test.steps.size(), 10U);
  EXPECT_EQ(filesIn(place.path()), 0U);
}

void expectKilled(const SelfTest& test, int call, const std::string& name,
                  const std::string& step) {
  EXPECT_EQ(test.killedCall, name) << test.failure;
  EXPECT_EQ(test.killedNumber, call);
  ASSERT_FALSE(test.steps.empty());
  EXPECT_EQ(test.steps.back(), step);
  EXPECT_NE(test.failure.find(name), std::string::npos) << test.failure;
}

TEST_F(SelfTestCase, NamesTheFirstCallThatIsKilledAndTheStep) {
  const struct {
    int call;
    const char* name;
    const char* step;
  } rows[] = {
      {SCMP_SYS(getdents64), "getdents64", "a scan of sysfs"},
      {SCMP_SYS(recvmsg), "recvmsg", "the kernel's events"},
      {SCMP_SYS(connect), "connect", "plugind's socket is dialled"},
      {SCMP_SYS(sendmsg), "sendmsg", "plugind's connection"},
  };
  for (const auto& row : rows) {
    const auto table = without(kHardwareRules, row.call);
    expectKilled(runSelfTest({.hardware = table}), row.call, row.name, row.step);
  }
}

TEST_F(SelfTestCase, TheSameOfTheBinder) {
  const struct {
    int call;
    const char* name;
    const char* step;
  } rows[] = {
      {SCMP_SYS(getdents64), "getdents64", "the binder's scan of sysfs"},
      {SCMP_SYS(read), "read", "the binder's scan of sysfs"},
      {SCMP_SYS(flock), "flock", "the locks of a group"},
      {SCMP_SYS(socketpair), "socketpair", "the channel to plugind"},
      {SCMP_SYS(renameat), "renameat",
       "a change of drivers: plan, guards, audit log, state, writes, undo"},
  };
  for (const auto& row : rows) {
    const auto table = without(kBinderRules, row.call);
    expectKilled(runSelfTest({.binder = table}), row.call, row.name, row.step);
  }
}

TEST_F(SelfTestCase, TheSameOfTheGate) {
  const struct {
    int call;
    const char* name;
    const char* step;
  } rows[] = {
      {SCMP_SYS(flock), "flock", "a plugind's lease"},
      {SCMP_SYS(listen), "listen", "a socket for the kubelet"},
      {SCMP_SYS(unlinkat), "unlinkat", "a claim's spec is taken away"},
      {SCMP_SYS(fsync), "fsync", "a CDI spec"},
  };
  for (const auto& row : rows) {
    const auto table = without(kGateRules, row.call);
    expectKilled(runSelfTest({.gate = table}), row.call, row.name, row.step);
  }
}

TEST(WatchedChild, TellsHowItEndedAndWhatItSaid) {
  const auto end = watchChild([]() {
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, "said\n", 5);
    _exit(3);
  });
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->watched);
  EXPECT_TRUE(WIFEXITED(end->status) && WEXITSTATUS(end->status) == 3);
  EXPECT_EQ(end->said, "said\n");
  EXPECT_FALSE(end->killed.has_value());
}

TEST(WatchedChild, SeesACallThatKillsWhatTheChildForked) {
  const auto end = watchChild([]() {
    const pid_t forked = fork();
    if (forked == 0) {
      if (loadFilter(kForkServerRules)) _exit(1);
      getppid();
      _exit(0);
    }
    waitpid(forked, nullptr, 0);
    _exit(0);
  });
  ASSERT_TRUE(end.has_value());
  ASSERT_TRUE(end->killed.has_value());
  EXPECT_EQ(end->killed->name, "getppid");
  EXPECT_TRUE(end->killed->forked);
  EXPECT_TRUE(WIFEXITED(end->status));
}

TEST(WatchedChild, AnotherSignalIsNoKilledCall) {
  const auto end = watchChild([]() { raise(SIGTERM); });
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGTERM);
  EXPECT_FALSE(end->killed.has_value());
}

TEST(SelfTestText, SaysWhatFailedAndWhere) {
  const SelfTest test{.steps = {"one", "two"},
                      .log = "event=x\n",
                      .failure = "the filter killed privd for openat (call 257)",
                      .killedCall = "openat",
                      .killedNumber = 257};
  EXPECT_EQ(selfTestAs("text", "privd", test),
            "ok      one\nFAILED  two\nevent=x\n"
            "failed: the filter killed privd for openat (call 257)\n");
  EXPECT_NE(selfTestAs("json", "privd", test).find("\"killedCall\": \"openat\""),
            std::string::npos);
  EXPECT_NE(selfTestAs("json", "privd", {.steps = {"one"}}).find("\"passed\": true"),
            std::string::npos);
}

}  // namespace
}  // namespace vfiogate
