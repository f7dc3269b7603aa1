#include "seccomp/print_policy.h"

#include "seccomp/binder_rules.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vfiogate {
namespace {

const std::array kToy{
    Rule{SCMP_SYS(read), kAnyArgs, "bytes come in"},
    Rule{SCMP_SYS(fcntl), intIs(1, F_GETFL, "cmd is F_GETFL"), "flags"},
    Rule{SCMP_SYS(clone3), AnswerErrno{ENOSYS}, "falls back"},
    Rule{SCMP_SYS(tgkill),
         {isOwnPid(0, "process is itself"), intIs(2, 6, "signal is SIGABRT")},
         "abort",
         Defensive{"an invariant is broken"}},
};

TEST(PolicyAs, AsTextIsTheTableLineByLine) {
  EXPECT_EQ(policyAs("text", {"toy", kToy, {}}),
            "toy: every other call, and every call of a foreign architecture or of x32, kills the "
            "process.\n\n"
            "CALL    ARGUMENTS                             ACTION        REASON\n"
            "read    any                                   allow         bytes come in\n"
            "fcntl   cmd is F_GETFL                        allow         flags\n"
            "clone3  any                                   errno ENOSYS  falls back\n"
            "tgkill  process is itself, signal is SIGABRT  allow         abort "
            "(defensive: needed if an invariant is broken)\n");
}

TEST(PolicyAs, AsJsonHoldsEveryRowOfTheTableInOrder) {
  for (const std::span<const Rule> table :
       {std::span<const Rule>(kBinderRules), std::span<const Rule>(kPlugindRules),
        std::span<const Rule>(kNetdMetricsRules), std::span<const Rule>(kNetdDraRules),
        std::span<const Rule>(kForkServerRules)}) {
    const auto policy = nlohmann::json::parse(policyAs("json", {"toy", table, {}}));
    const auto& rows = policy.at("rows");
    ASSERT_EQ(rows.size(), table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      EXPECT_EQ(rows[i].at("number"), table[i].calls().front().number);
      EXPECT_EQ(rows[i].at("alternatives").size(), table[i].calls().size() - 1);
      EXPECT_EQ(rows[i].at("reason"), table[i].reason());
      EXPECT_EQ(rows[i].at("arguments").size(), table[i].args().size());
      EXPECT_EQ(rows[i].at("defensive").is_null(), !table[i].isDefensive());
    }
  }
}

TEST(PolicyAs, AsJsonSpellsARowOut) {
  const auto policy = nlohmann::json::parse(policyAs("json", {"toy", kToy, {}}));
  EXPECT_EQ(policy.at("process"), "toy");
  EXPECT_EQ(policy.at("default"), "kill process");
  auto want = nlohmann::json::parse(R"({
    "call": "tgkill", "madeBy": null, "alternatives": [], "action": "allow", "reason": "abort",
    "defensive": "an invariant is broken",
    "arguments": [
      {"index": 0, "mask": 4294967295, "value": "own pid", "text": "process is itself"},
      {"index": 2, "mask": 4294967295, "value": 6, "text": "signal is SIGABRT"}]})");
  want["number"] = SCMP_SYS(tgkill);
  EXPECT_EQ(policy.at("rows").back(), want);
}

TEST(PolicyAs, ARowWithAlternativesNamesThemAndWhoMakesThem) {
  const std::array toy{
      Rule{SystemCalls{{SCMP_SYS(newfstatat), "one library"}, {SCMP_SYS(fstat), "another"}},
           kAnyArgs, "size of a file"}};
  EXPECT_THAT(policyAs("text", {"toy", toy, {}}),
              testing::HasSubstr("newfstatat or fstat  any        allow   size of a file "
                                 "(newfstatat: one library; fstat: another)\n"));
  const auto row = nlohmann::json::parse(policyAs("json", {"toy", toy, {}})).at("rows").at(0);
  EXPECT_EQ(row.at("call"), "newfstatat");
  EXPECT_EQ(row.at("madeBy"), "one library");
  auto want = nlohmann::json::parse(R"([{"call": "fstat", "madeBy": "another"}])");
  want[0]["number"] = SCMP_SYS(fstat);
  EXPECT_EQ(row.at("alternatives"), want);
}

TEST(PolicyAs, OciIsTheProfile) {
  const Policy toy{"toy", kToy, {}};
  EXPECT_EQ(policyAs("oci", toy), profileAsOci(profileRows(toy)));
}

TEST(PolicyAs, SaysWhatAForkedProcessMayDoToo) {
  const std::array part{Rule{SCMP_SYS(sendfile), kAnyArgs, "bytes go out"}};
  const Policy toy{"toy", kToy, {}, {{"forked", "toy's part", part}}};
  EXPECT_EQ(policyAs("text", toy), policyAs("text", {"toy", kToy, {}}) + "\n" +
                                       policyAs("text", {"toy's part", part, {}}));
  auto policy = nlohmann::json::parse(policyAs("json", toy));
  EXPECT_EQ(policy.at("forked"), nlohmann::json::parse(policyAs("json", {"toy's part", part, {}})));
  policy.erase("forked");
  EXPECT_EQ(policy, nlohmann::json::parse(policyAs("json", {"toy", kToy, {}})));
  EXPECT_EQ(policyAs("oci", toy), profileAsOci(profileRows(toy)));
  EXPECT_EQ(profileRows(toy).back().reason(), "bytes go out");
}

}  // namespace
}  // namespace vfiogate
