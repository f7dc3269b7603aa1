// `plugind policy --self-test`: it passes under the filter that is shipped, and names what another
// filter kills plugind for.

#include "plugind/self_test/self_test.h"

#include "tests/support/self_test_case.h"

#include <seccomp.h>

namespace vfiogate {
namespace {

using PlugindSelfTest = test::SelfTestCase;

TEST_F(PlugindSelfTest, PassesUnderTheShippedFilterAndLeavesNothing) {
  const SelfTest test = runSelfTest({});
  EXPECT_EQ(test.failure, "") << test.log;
  EXPECT_EQ(test.killedCall, "");
  EXPECT_EQ(test.steps.size(), 7U);
  EXPECT_TRUE(leftNothing());
}

TEST_F(PlugindSelfTest, PassesForAUserWithoutPower) {
  EXPECT_TRUE(passesAs(64532, []() { return runSelfTest({}); }));
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
  const auto& [call, name, step] = GetParam();
  expectKilled(runSelfTest({}, without(kPlugindRules, call)), call, name, step);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PlugindSelfTestWithout,
    testing::Values(Missing{SCMP_SYS(accept4), "accept4", "its start, with privd and kubelet"},
                    Missing{SCMP_SYS(recvmsg), "recvmsg", "its start, with privd and kubelet"},
                    Missing{SCMP_SYS(eventfd2), "eventfd2", "its start, with privd and kubelet"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace vfiogate
