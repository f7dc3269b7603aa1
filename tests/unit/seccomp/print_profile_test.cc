#include "seccomp/print_profile.h"

#include "cli/self_test/bpf_interpreter.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_policy.h"
#include "seccomp/startup_rules.h"
#include "tests/support/seen/reduced_table.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using test::onlyCall;

using testing::Contains;
using testing::Not;

const std::vector<Policy> kPolicies{
    privdPolicy("hardware"),
    privdPolicy("gate"),
    privdPolicy("binder"),
    privdPolicy("daemon"),
    privdPolicy("iommufd"),
    {"plugind", kPlugindRules, kPlugindStartupRules},
    {"netd metrics", kNetdMetricsRules, kNetdMetricsStartupRules},
    {"netd dra", kNetdDraRules, kNetdDraStartupRules},
};

/// A call that passes the row's tests.
seccomp_data callOf(const Rule& row) {
  std::array<std::uint64_t, 6> args{};
  for (const ArgCheck& arg : row.args()) {
    args.at(arg.index) = arg.ownPid ? static_cast<std::uint64_t>(getpid()) : arg.value;
  }
  return nativeCall(onlyCall(row), args);
}

std::vector<int> allowedIn(const std::vector<Rule>& rows) {
  std::vector<int> calls;
  for (const Rule& row : rows) {
    if (row.error() == 0) calls.push_back(onlyCall(row));
  }
  return calls;
}

class Profile : public testing::TestWithParam<Policy> {};

// What our filter lets through must not die of the outer fence.
TEST_P(Profile, LetsThroughWhatTheProgramsOwnTableDoes) {
  const auto filter = exportedFilter(profileRows(GetParam()));
  std::vector<std::span<const Rule>> tables{GetParam().table, GetParam().startup,
                                            kThreadMemoryRules, kStartupRules, kRuntimeRules};
  for (const ProcessPolicy& other : GetParam().others) tables.push_back(other.table);
  for (const std::span<const Rule> table : tables) {
    for (const Rule& row : test::byCall(table)) {
      if (row.error() != 0) continue;
      EXPECT_EQ(evaluate(filter, callOf(row)), SECCOMP_RET_ALLOW)
          << callNames(row) << ": " << row.reason();
    }
  }
}

TEST_P(Profile, HasOneEntryForEachRow) {
  const std::vector<Rule> rows = profileRows(GetParam());
  const auto profile = nlohmann::json::parse(profileAsOci(rows));
  const auto& entries = profile.at("syscalls");
  ASSERT_EQ(entries.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& entry = entries[i];
    EXPECT_EQ(entry.at("names"), nlohmann::json{callNames(rows[i])});
    EXPECT_EQ(entry.at("action"), rows[i].error() == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
    EXPECT_EQ(entry.value("errnoRet", 0), rows[i].error());
    EXPECT_EQ(entry.at("comment"), rows[i].reason());
    std::vector<ArgCheck> checks;
    std::ranges::copy_if(rows[i].args(), std::back_inserter(checks),
                         [](const ArgCheck& arg) { return !arg.ownPid; });
    const auto args = entry.value("args", nlohmann::json::array());
    ASSERT_EQ(args.size(), checks.size()) << entry;
    for (std::size_t k = 0; k < checks.size(); ++k) {
      EXPECT_EQ(args[k].at("index"), checks[k].index);
      EXPECT_EQ(args[k].at("op"), "SCMP_CMP_MASKED_EQ");
      EXPECT_EQ(args[k].at("value").get<std::uint64_t>(), checks[k].mask);
      EXPECT_EQ(args[k].at("valueTwo").get<std::uint64_t>(), checks[k].value);
    }
  }
}

// runc takes several tests of one argument for alternatives.
TEST_P(Profile, TestsAnArgumentOnceInARow) {
  for (const Rule& row : profileRows(GetParam())) {
    std::set<unsigned> indexes;
    for (const ArgCheck& arg : row.args()) EXPECT_TRUE(indexes.insert(arg.index).second);
  }
}

TEST_P(Profile, SaysNothingTwice) {
  const auto profile = nlohmann::json::parse(profileAsOci(profileRows(GetParam())));
  std::set<std::string> seen;
  for (auto entry : profile.at("syscalls")) {
    entry.erase("comment");
    EXPECT_TRUE(seen.insert(entry.dump()).second) << entry;
  }
}

TEST_P(Profile, AllowsNoCallThatWouldLoseTheFence) {
  const auto calls = allowedIn(profileRows(GetParam()));
  for (const int call : {SCMP_SYS(mount), SCMP_SYS(ptrace), SCMP_SYS(bpf), SCMP_SYS(setns),
                         SCMP_SYS(chmod), SCMP_SYS(init_module), SCMP_SYS(process_vm_writev)}) {
    EXPECT_THAT(calls, Not(Contains(call)));
  }
  const auto filter = exportedFilter(profileRows(GetParam()));
  const bool makesProcesses = !GetParam().others.empty();
  const std::array<std::uint64_t, 1> fork{SIGCHLD};
  EXPECT_EQ(evaluate(filter, nativeCall(SCMP_SYS(clone), fork)) == SECCOMP_RET_ALLOW,
            makesProcesses);
  for (const unsigned flags :
       {0U | CLONE_NEWUSER, 0U | CLONE_NEWNS, 0U | CLONE_VM, 0U | CLONE_PARENT}) {
    const std::array<std::uint64_t, 1> args{flags | SIGCHLD};
    EXPECT_NE(evaluate(filter, nativeCall(SCMP_SYS(clone), args)), SECCOMP_RET_ALLOW);
  }
  const std::array<std::uint64_t, 3> raw{AF_PACKET, SOCK_RAW, 0};
  EXPECT_NE(evaluate(filter, nativeCall(SCMP_SYS(socket), raw)), SECCOMP_RET_ALLOW);
}

INSTANTIATE_TEST_SUITE_P(Programs, Profile, testing::ValuesIn(kPolicies), [](const auto& one) {
  std::string name(one.param.process);
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
});

TEST(ProfileRows, ARowForAnyArgumentsStandsAloneForItsCall) {
  const std::array toy{Rule{SCMP_SYS(socket), kAnyArgs, "any"}};
  const std::array start{Rule{SCMP_SYS(socket), intIs(0, AF_UNIX, "domain"), "one"}};
  const auto rows = profileRows({"toy", toy, start});
  EXPECT_EQ(std::ranges::count(rows, SCMP_SYS(socket), onlyCall), 1);
  EXPECT_TRUE(test::rowFor(rows, SCMP_SYS(socket))->args().empty());
}

TEST(ProfileRows, AnErrnoStandsOnlyWhereNothingIsAllowed) {
  const std::array toy{Rule{SCMP_SYS(openat), AnswerErrno{EACCES}, "start-up opens"},
                       Rule{SCMP_SYS(acct), AnswerErrno{EACCES}, "nobody calls it"}};
  const auto rows = profileRows({"toy", toy, {}});
  for (const Rule& row : rows) EXPECT_FALSE(row.isFor(SCMP_SYS(openat)) && row.error() != 0);
  EXPECT_EQ(test::rowFor(rows, SCMP_SYS(acct))->error(), EACCES);
}

TEST(ProfileAsOci, DeniesByErrorAndKnowsOneArchitecture) {
  const auto profile = nlohmann::json::parse(profileAsOci({}));
  const bool arm = kNativeArch == AUDIT_ARCH_AARCH64;
  EXPECT_EQ(profile.at("defaultAction"), "SCMP_ACT_ERRNO");
  EXPECT_THAT(profile.at("architectures"),
              testing::ElementsAre(arm ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"));
  EXPECT_TRUE(profile.at("syscalls").empty());
}

TEST(ProfileAsOci, LeavesOutTheOwnPidThatTheRuntimeDoesNotKnow) {
  const std::array toy{Rule{SCMP_SYS(tgkill),
                            {isOwnPid(0, "process is itself"), intIs(2, 6, "signal is SIGABRT")},
                            "abort"}};
  const auto profile = nlohmann::json::parse(profileAsOci(toy));
  EXPECT_EQ(profile.at("syscalls")[0], nlohmann::json::parse(R"({
    "names": ["tgkill"], "action": "SCMP_ACT_ALLOW", "comment": "abort",
    "args": [{"index": 2, "value": 4294967295, "valueTwo": 6, "op": "SCMP_CMP_MASKED_EQ"}]})"));
}

}  // namespace
}  // namespace vfiogate
