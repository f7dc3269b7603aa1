// `netd policy ROLE --self-test`: it passes under the filters that are shipped, and names what
// another filter kills netd for.

#include "netd/self_test/self_test.h"

#include "tests/support/self_test_case.h"

#include <seccomp.h>

namespace vfiogate {
namespace {

NetdLine lineFor(const std::string& role) {
  NetdLine line;
  line.policyRole = role;
  return line;
}

class NetdSelfTest : public test::SelfTestCase, public testing::WithParamInterface<const char*> {};

TEST_P(NetdSelfTest, PassesUnderTheShippedFilterAndLeavesNothing) {
  const SelfTest test = runSelfTest(lineFor(GetParam()));
  EXPECT_EQ(test.failure, "") << test.log;
  EXPECT_GE(test.steps.size(), 3U);
  EXPECT_TRUE(leftNothing());
}

TEST_P(NetdSelfTest, PassesForAUserWithoutPower) {
  EXPECT_TRUE(passesAs(64533, []() { return runSelfTest(lineFor(GetParam())); }));
  EXPECT_TRUE(leftNothing());
}

INSTANTIATE_TEST_SUITE_P(Roles, NetdSelfTest, testing::Values("metrics", "dra", ""),
                         [](const auto& role) {
                           return std::string(*role.param == 0 ? "both" : role.param);
                         });

using NetdSelfTestWithout = test::SelfTestCase;

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
