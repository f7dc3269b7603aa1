#include "plugind/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

constexpr BuildInfo kBuilt{"1.2.3", "c0ffee", "2026-02-03T04:05:06Z", "1.2.3 (commit c0ffee)"};

Result<CommandLine, EarlyEnd> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "plugind");
  return readCommandLine(static_cast<int>(arguments.size()), arguments.data(), kBuilt);
}

TEST(CommandLine, ServesByDefault) {
  const auto line = read({});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->act, CommandLine::Act::kServe);
  EXPECT_EQ(line->listen, "/run/vfiogate/plugind/plugind.sock");
  EXPECT_EQ(line->configFile, "");
  EXPECT_EQ(line->user.uid, 64532U);
  EXPECT_EQ(line->user.gid, 64532U);
}

TEST(CommandLine, SaysWhatItWasBuiltOf) {
  EXPECT_EQ(read({})->build, kBuilt);
  const auto told = read({"--version"});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().exitCode, 0);
  EXPECT_EQ(told.error().text, std::string(kBuilt.text) + "\n");
}

TEST(CommandLine, TakesAUserWithAndWithoutAGroup) {
  EXPECT_EQ(read({"--user", "1000"})->user.gid, 1000U);
  EXPECT_EQ(read({"--user", "1000:2000"})->user.gid, 2000U);
}

TEST(CommandLine, KnowsItsOtherActs) {
  EXPECT_EQ(read({"--config", "x", "--check-config"})->act, CommandLine::Act::kCheckConfig);
  const auto policy = read({"policy", "-o", "json"});
  EXPECT_EQ(policy->act, CommandLine::Act::kPrintPolicy);
  EXPECT_EQ(policy->policyForm, "json");
}

TEST(CommandLine, AsksTheRunningPlugind) {
  const auto status = read({"status", "-o", "json", "--listen", "/x"});
  EXPECT_EQ(status->act, CommandLine::Act::kStatus);
  EXPECT_EQ(status->form, "json");
  EXPECT_EQ(status->listen, "/x");
  EXPECT_EQ(status->timeout, std::chrono::milliseconds(100));
  const auto explain = read({"explain", "65:00.0", "--timeout", "2000"});
  EXPECT_EQ(explain->act, CommandLine::Act::kExplain);
  EXPECT_EQ(explain->address, *Bdf::parse("0000:65:00.0"));
  EXPECT_EQ(explain->timeout, std::chrono::milliseconds(2000));
}

TEST(CommandLine, ProbesWithMorePatienceThanPeopleHave) {
  const auto probe = read({"probe", "--listen", "/x"});
  EXPECT_EQ(probe->act, CommandLine::Act::kProbe);
  EXPECT_EQ(probe->listen, "/x");
  EXPECT_EQ(probe->timeout, std::chrono::milliseconds(1000));
  EXPECT_FALSE(probe->address) << "plugind's own readiness";
  EXPECT_EQ(read({"probe", "65:00.0"})->address, *Bdf::parse("0000:65:00.0"));
  EXPECT_EQ(read({"probe", "--timeout", "7"})->timeout, std::chrono::milliseconds(7));
  EXPECT_EQ(probe->wait, std::chrono::milliseconds(0));
  EXPECT_EQ(read({"probe", "--wait", "7"})->wait, std::chrono::milliseconds(7));
}

TEST(CommandLine, TakesNetdsUser) {
  EXPECT_EQ(read({})->netdUid, 64533U);
  EXPECT_EQ(read({"--netd-uid", "7000"})->netdUid, 7000U);
  EXPECT_EQ(read({})->hardwareUid, 64531U);
  EXPECT_EQ(read({"--hardware-uid", "7001"})->hardwareUid, 7001U);
}

TEST(CommandLine, HelpIsNoFailure) {
  const auto line = read({"--help"});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().exitCode, 0);
  EXPECT_THAT(line.error().text, HasSubstr("--listen"));
}

struct Misuse {
  std::vector<const char*> arguments;
  const char* text;
};

class CommandLineRefuses : public testing::TestWithParam<Misuse> {};

TEST_P(CommandLineRefuses, WithCodeTwoAndTheReason) {
  const auto line = read(GetParam().arguments);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().exitCode, 2);
  EXPECT_THAT(line.error().text, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Table, CommandLineRefuses,
    testing::Values(
        Misuse{{"--user", "0"}, "--user: '0' is not UID or UID:GID"},
        Misuse{{"--user", "1000:0"}, "neither of them 0"},
        Misuse{{"--user", "nobody"}, "in numbers"}, Misuse{{"--user", "1000:"}, "in numbers"},
        Misuse{{"--user", "4294967296"}, "in numbers"}, Misuse{{"--nope"}, "--nope"},
        Misuse{{"--config"}, "--config"},
        Misuse{{"status", "-o", "xml"}, "'xml' is no form of output"},
        Misuse{{"status", "--timeout", "0"}, "--timeout"},
        Misuse{{"probe", "--timeout", "0"}, "--timeout"},
        Misuse{{"probe", "--wait", "60001"}, "--wait"}, Misuse{{"--netd-uid", "0"}, "--netd-uid"},
        Misuse{{"--netd-uid", "netd"}, "--netd-uid"},
        Misuse{{"--hardware-uid", "0"}, "--hardware-uid"},
        Misuse{{"--hardware-uid", "hardware"}, "--hardware-uid"}, Misuse{{"explain"}, "ADDRESS"},
        Misuse{{"probe", "gpu"}, "'gpu' is no device here"},
        Misuse{{"explain", "gpu"}, "'gpu' is no device here"},
        Misuse{{"fragment", "xen"}, "'xen' is no consumer: there are kubevirt, kata"}));

}  // namespace
}  // namespace vfiogate
