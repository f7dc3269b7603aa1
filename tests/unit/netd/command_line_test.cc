#include "netd/roles/command_line.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

constexpr BuildInfo kBuilt{"1.2.3", "c0ffee", "2026-02-03T04:05:06Z", "1.2.3 (commit c0ffee)"};

Result<NetdLine, NetdLeaves> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "netd");
  return readNetdLine(static_cast<int>(arguments.size()), arguments.data(), kBuilt);
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

TEST(NetdLine, SaysWhatItWasBuiltOf) {
  EXPECT_EQ(read({"metrics"})->build, kBuilt);
  const auto told = read({"--version"});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().exitCode, 0);
  EXPECT_EQ(told.error().text, std::string(kBuilt.text) + "\n");
}

TEST(NetdLine, TakesItsOptions) {
  const auto line =
      read({"metrics", "--plugind", "/x", "--listen", "[::]:80", "--user", "1000:2000"});
  EXPECT_EQ(line->plugind, "/x");
  EXPECT_EQ(line->listen->str(), "[::]:80");
  EXPECT_EQ(line->user.uid, 1000U);
  EXPECT_EQ(line->user.gid, 2000U);
}

/// A variable of the environment, for one test.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* name_;
};

TEST(NetdLine, DraFindsInItsPodWhatItNeeds) {
  const Variable host("KUBERNETES_SERVICE_HOST", "fd00::1");
  const Variable port("KUBERNETES_SERVICE_PORT", "6443");
  const Variable node("NODE_NAME", "node-1");
  const auto line = read({"dra"});
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->act, NetdLine::Act::kDra);
  EXPECT_EQ(line->node, "node-1");
  EXPECT_EQ(line->api.server->str(), "https://[fd00::1]:6443");
  EXPECT_EQ(line->api.serverName, "kubernetes.default.svc");
  EXPECT_EQ(line->api.token, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(line->api.ca, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
}

TEST(NetdLine, DraTakesItsOptions) {
  const auto named = read({"dra", "--node", "n", "--api-server", "https://api.example.com"});
  ASSERT_TRUE(named) << named.error().text;
  EXPECT_EQ(named->api.serverName, "api.example.com");
  const auto line = read({"dra", "--node", "n", "--api-server", "https://10.0.0.1", "--token", "/t",
                          "--ca", "/c", "--server-name", "x.y", "--user", "1:2"});
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->api.serverName, "x.y");
  EXPECT_EQ(line->api.token, "/t");
  EXPECT_EQ(line->api.ca, "/c");
  EXPECT_EQ(line->user.gid, 2U);
}

TEST(NetdLine, KnowsPolicyAndHelp) {
  EXPECT_EQ(read({"policy", "-o", "json"})->policyForm, "json");
  EXPECT_EQ(read({"policy"})->policyRole, "metrics");
  EXPECT_EQ(read({"policy", "dra"})->policyRole, "dra");
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
    testing::Values(Misuse{{}, "a command is missing: give one of metrics, dra, policy"},
                    Misuse{{"dra"}, "--node: is needed"},
                    Misuse{{"dra", "--node", "a b"}, "'a b' is no Node's name"},
                    Misuse{{"dra", "--node", "n"}, "--api-server: is needed"},
                    Misuse{{"dra", "--node", "n", "--api-server", "http://10.0.0.1"},
                           "without TLS only this machine"},
                    Misuse{{"policy", "proxy"}, "proxy"},
                    Misuse{{"metrics", "--listen", "localhost:9408"}, "'localhost:9408' is not"},
                    Misuse{{"metrics", "--user", "0"}, "neither of them 0"},
                    Misuse{{"metrics", "--nope"}, "--nope"},
                    Misuse{{"policy", "-o", "xml"}, "there are text, json, yaml, oci"}));

}  // namespace
}  // namespace vfiogate
