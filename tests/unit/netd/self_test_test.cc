// `netd policy ROLE --self-test`: it passes under the filters that are shipped, and names what
// another filter kills netd for.

#include "netd/self_test/self_test.h"

#include "sim/base/temp_dir.h"
#include "tests/support/seen/reduced_table.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace vfiogate {
namespace {

NetdLine lineFor(const std::string& role) {
  NetdLine line;
  line.policyRole = role;
  return line;
}

/// Each case is a process of its own, as the self-test wants it.
class NetdSelfTest : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
    chmod(place_.path().c_str(), 01777);
    setenv("TMPDIR", place_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("TMPDIR"); }
  bool leftNothing() const { return std::filesystem::is_empty(place_.path()); }

private:
  const TempDir place_;
};

TEST_P(NetdSelfTest, PassesUnderTheShippedFilterAndLeavesNothing) {
  const SelfTest test = runSelfTest(lineFor(GetParam()));
  EXPECT_EQ(test.failure, "") << test.log;
  EXPECT_GE(test.steps.size(), 3U);
  EXPECT_TRUE(leftNothing());
}

// As in its pod.
TEST_P(NetdSelfTest, PassesForAUserWithoutPower) {
  const pid_t child = fork();
  if (child == 0) {
    const bool nobody = setresgid(64533, 64533, 64533) == 0 && setresuid(64533, 64533, 64533) == 0;
    const SelfTest test = runSelfTest(lineFor(GetParam()));
    std::cerr << test.failure << "\n" << test.log;
    _exit(nobody && test.failure.empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(leftNothing());
}

INSTANTIATE_TEST_SUITE_P(Roles, NetdSelfTest, testing::Values("metrics", "dra", ""),
                         [](const auto& role) {
                           return std::string(*role.param == 0 ? "both" : role.param);
                         });

template <typename Table>
std::vector<Rule> without(const Table& table, int call) {
  const auto* const row = test::rowFor(table, call);
  return test::withoutRow(table, static_cast<std::size_t>(row - table.begin()));
}

class NetdSelfTestWithout : public NetdSelfTest {
protected:
  void expectKilled(const SelfTest& test, int call, const std::string& name,
                    const std::string& step) const {
    EXPECT_EQ(test.killedCall, name) << test.failure << test.log;
    EXPECT_EQ(test.killedNumber, call);
    ASSERT_FALSE(test.steps.empty());
    EXPECT_EQ(test.steps.back(), step);
    EXPECT_TRUE(leftNothing());
  }
};

TEST_F(NetdSelfTestWithout, ACallOfMetricsIsNamedWithItsStep) {
  const auto table = without(kNetdMetricsRules, SCMP_SYS(connect));
  expectKilled(runSelfTest(lineFor("metrics"), {.metrics = table}), SCMP_SYS(connect), "connect",
               "/metrics");
}

TEST_F(NetdSelfTestWithout, ACallOfDraIsNamedWithItsStep) {
  const auto table = without(kNetdDraRules, SCMP_SYS(getsockopt));
  expectKilled(runSelfTest(lineFor("dra"), {.dra = table}), SCMP_SYS(getsockopt), "getsockopt",
               "a claim is asked of the API server");
}

}  // namespace
}  // namespace vfiogate
