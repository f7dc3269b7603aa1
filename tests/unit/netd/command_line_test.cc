#include "netd/command_line.h"

#include <gmock/gmock.h>

#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

Result<NetdLine, NetdLeaves> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "netd");
  return readNetdLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(NetdLine, MetricsHasADefaultForEverything) {
  const auto line = read({"metrics"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->act, NetdLine::Act::kMetrics);
  EXPECT_EQ(line->plugind, "/run/vfiogate/plugind/plugind.sock");
  EXPECT_EQ(line->listen->str(), "127.0.0.1:9408");
  EXPECT_EQ(line->user.uid, 64533U);
  EXPECT_EQ(line->user.gid, 64533U);
}

TEST(NetdLine, TakesItsOptions) {
  const auto line =
      read({"metrics", "--plugind", "/x", "--listen", "[::]:80", "--user", "1000:2000"});
  EXPECT_EQ(line->plugind, "/x");
  EXPECT_EQ(line->listen->str(), "[::]:80");
  EXPECT_EQ(line->user.uid, 1000U);
  EXPECT_EQ(line->user.gid, 2000U);
}

TEST(NetdLine, KnowsPolicyAndHelp) {
  EXPECT_EQ(read({"policy", "-o", "json"})->policyForm, "json");
  const auto help = read({"metrics", "--help"});
  EXPECT_EQ(help.error().exitCode, 0);
  EXPECT_THAT(help.error().text, HasSubstr("--listen"));
}

struct Misuse {
  std::vector<const char*> arguments;
  const char* text;
};

class NetdLineRefuses : public testing::TestWithParam<Misuse> {};

TEST_P(NetdLineRefuses, WithCodeTwoAndTheReason) {
  const auto line = read(GetParam().arguments);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().exitCode, 2);
  EXPECT_THAT(line.error().text, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Table, NetdLineRefuses,
    testing::Values(Misuse{{}, "subcommand"}, Misuse{{"dra"}, "dra: not in this version"},
                    Misuse{{"dra", "--token", "x"}, "dra: not in this version"},
                    Misuse{{"metrics", "--listen", "localhost:9408"}, "'localhost:9408' is not"},
                    Misuse{{"metrics", "--user", "0"}, "neither of them 0"},
                    Misuse{{"metrics", "--nope"}, "--nope"},
                    Misuse{{"policy", "-o", "xml"}, "text|json|oci"}));

}  // namespace
}  // namespace vfiogate
