// `plugind policy --self-test`: it passes under the filter that is shipped, and names what another
// filter kills plugind for.

#include "plugind/self_test/self_test.h"

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

namespace vfiogate {
namespace {

/// Each case is a process of its own, as the self-test wants it.
class PlugindSelfTest : public testing::Test {
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

TEST_F(PlugindSelfTest, PassesUnderTheShippedFilterAndLeavesNothing) {
  const SelfTest test = runSelfTest({});
  EXPECT_EQ(test.failure, "") << test.log;
  EXPECT_EQ(test.killedCall, "");
  EXPECT_EQ(test.steps.size(), 7U);
  EXPECT_TRUE(leftNothing());
}

// As in its pod.
TEST_F(PlugindSelfTest, PassesForAUserWithoutPower) {
  const pid_t child = fork();
  if (child == 0) {
    const bool nobody = setresgid(64532, 64532, 64532) == 0 && setresuid(64532, 64532, 64532) == 0;
    const SelfTest test = runSelfTest({});
    std::cerr << test.failure << "\n" << test.log;
    _exit(nobody && test.failure.empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(leftNothing());
}

struct Missing {
  int call;
  const char* name;
  const char* step;
};

void PrintTo(const Missing& missing, std::ostream* out) {
  *out << missing.name;
}

class PlugindSelfTestWithout : public PlugindSelfTest,
                               public testing::WithParamInterface<Missing> {};

TEST_P(PlugindSelfTestWithout, NamesTheCallAndTheStep) {
  const auto* const row = test::rowFor(kPlugindRules, GetParam().call);
  const auto table =
      test::withoutRow(kPlugindRules, static_cast<std::size_t>(row - kPlugindRules.begin()));
  const SelfTest test = runSelfTest({}, table);
  EXPECT_EQ(test.killedCall, GetParam().name) << test.failure << test.log;
  EXPECT_EQ(test.killedNumber, GetParam().call);
  ASSERT_FALSE(test.steps.empty());
  EXPECT_EQ(test.steps.back(), GetParam().step);
  EXPECT_TRUE(leftNothing());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PlugindSelfTestWithout,
    testing::Values(Missing{SCMP_SYS(accept4), "accept4", "its start, with privd and kubelet"},
                    Missing{SCMP_SYS(recvmsg), "recvmsg", "its start, with privd and kubelet"},
                    Missing{SCMP_SYS(eventfd2), "eventfd2", "its start, with privd and kubelet"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace vfiogate
