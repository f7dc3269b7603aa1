#include "plugind/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

Result<CommandLine, EarlyEnd> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "plugind");
  return readCommandLine(static_cast<int>(arguments.size()), arguments.data());
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
    testing::Values(Misuse{{"--user", "0"}, "--user: '0' is not UID or UID:GID"},
                    Misuse{{"--user", "1000:0"}, "neither of them 0"},
                    Misuse{{"--user", "nobody"}, "in numbers"},
                    Misuse{{"--user", "1000:"}, "in numbers"},
                    Misuse{{"--user", "4294967296"}, "in numbers"}, Misuse{{"--nope"}, "--nope"},
                    Misuse{{"--config"}, "--config"}, Misuse{{"status"}, "not in this version"},
                    Misuse{{"status", "-o", "json"}, "status: not in this version"},
                    Misuse{{"probe"}, "not in this version"},
                    Misuse{{"explain", "0000:65:00.0"}, "not in this version"},
                    Misuse{{"fragment", "kubevirt"}, "not in this version"}));

}  // namespace
}  // namespace vfiogate
