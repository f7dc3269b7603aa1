#pragma once
// What the tests of self-tests share: a place of their own, and a user without power.

#include "cli/self_test/self_test.h"
#include "sim/base/temp_dir.h"
#include "tests/support/seen/reduced_table.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Each case is a process of its own, as a self-test wants it.
class SelfTestCase : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
    chmod(place_.path().c_str(), 01777);
    setenv("TMPDIR", place_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("TMPDIR"); }

  bool leftNothing() const { return std::filesystem::is_empty(place_.path()); }

  /// Whether the self-test that `run` makes passes for this user, as in its pod.
  template <typename Run>
  static bool passesAs(uid_t user, Run run) {
    const pid_t child = fork();
    if (child == 0) {
      const bool theirs = setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
      const SelfTest test = run();
      std::cerr << test.failure << "\n" << test.log;
      _exit(theirs && test.failure.empty() ? 0 : 1);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
  }

  /// `table` without its row for `call`.
  template <typename Table>
  static std::vector<Rule> without(const Table& table, int call) {
    const auto* const row = rowFor(table, call);
    return withoutRow(table, static_cast<std::size_t>(row - table.begin()));
  }

  void expectKilled(const SelfTest& test, int call, const std::string& name,
                    const std::string& step) const {
    EXPECT_EQ(test.killedCall, name) << test.failure << test.log;
    EXPECT_EQ(test.killedNumber, call);
    ASSERT_FALSE(test.steps.empty());
    EXPECT_EQ(test.steps.back(), step);
    EXPECT_TRUE(leftNothing());
  }

private:
  const TempDir place_;
};

}  // namespace vfiogate::test
