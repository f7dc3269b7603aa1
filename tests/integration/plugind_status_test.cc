// `plugind status` and `plugind explain` against a running, locked-down plugind.

#include "tests/integration/plugind_process.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <future>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Asked {
  int code;
  std::string said;
};

class PlugindStatus : public PlugindProcess {
protected:
  /// As root, who becomes plugind's user to ask.
  Asked ask(std::vector<std::string> words) {
    std::vector<std::string> command{builtProgram("plugind")};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--listen", socket()});
    ChildProcess process(command, filteredEnvironment());
    const std::string said = process.outputWhole();
    return {process.wait(), said};
  }

  // Sanitizers on a busy machine are slow: a long patience here.
  json status() {
    const Asked asked = ask({"status", "-o", "json", "--timeout", "30000"});
    EXPECT_EQ(asked.code, 0) << asked.said << said();
    return json::parse(asked.said, nullptr, false);
  }
};

TEST_F(PlugindStatus, TellsWhoHoldsADeviceAndWhatWasRefused) {
  startPlugind("resources:\n  - {select: {vendor: \"10de\"}, groupUnit: all}\n");
  startKubelet();
  startPrivd();
  ASSERT_TRUE(kubelet_->shows(kResource, {kFirst, kSibling, kSecond})) << said();
  ASSERT_TRUE(allocate({kFirst}).status.ok());
  ASSERT_FALSE(allocate({kSibling}).status.ok());
  const json told = status();
  EXPECT_EQ(told.at("privd").at("there"), true);
  EXPECT_EQ(told.at("allocation"), "open");
  const json& resource = told.at("resources").at(0);
  EXPECT_EQ(resource.at("name"), kResource);
  EXPECT_EQ(resource.at("registered"), true);
  EXPECT_EQ(resource.at("streams"), 1);
  EXPECT_GE(resource.at("lastFrameAge"), 0);
  const json& device = resource.at("devices").at(0);
  EXPECT_EQ(device.at("address"), kFirst);
  EXPECT_EQ(device.at("state"), "answered");
  EXPECT_EQ(device.at("holders").size(), 1U);
  const std::string ref = device.at("holders").at(0).at("ref");
  const json& sibling = resource.at("devices").at(1);
  EXPECT_EQ(sibling.at("health"), "unhealthy");
  EXPECT_THAT(sibling.at("lastRefusal").at("text").get<std::string>(), HasSubstr("ref=" + ref));
}

// Opening a device is no event: privd's next rescan may be a minute away.
TEST_F(PlugindStatus, RereadsWhatIsAllocatedBeforeItAnswers) {
  startAll();
  ASSERT_TRUE(allocate({kFirst}).status.ok());
  const unsigned rereads = privd_->rereads();
  EXPECT_EQ(status().at("resources").at(0).at("devices").at(0).at("use"), "idle");
  EXPECT_EQ(privd_->rereads(), rereads + 1);
  privd_->stallRereads();
  EXPECT_EQ(status().at("resources").at(0).at("devices").at(0).at("use"), "idle");
}

TEST_F(PlugindStatus, SaysThatPrivdIsAway) {
  startPlugind();
  EXPECT_EQ(status().at("privd").at("there"), false);
  const auto table = ask({"status", "--timeout", "30000"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.said, HasSubstr("privd away | allocations off | startup scan waiting"));
}

TEST_F(PlugindStatus, ExplainsADevice) {
  startAll();
  const auto offered = ask({"explain", "65:00.0", "--timeout", "30000"});
  EXPECT_EQ(offered.code, 0);
  EXPECT_THAT(offered.said, HasSubstr("0000:65:00.0: offered\n"));
  const auto sibling = ask({"explain", kSibling, "-o", "json", "--timeout", "30000"});
  EXPECT_EQ(json::parse(sibling.said).at("reason"), "represented");
  const auto probed = ask({"probe", "65:00.0"});
  EXPECT_EQ(probed.code, 0);
  EXPECT_EQ(probed.said, "0000:65:00.0: offered\n");
  const auto refused = ask({"probe", kSibling});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.said, HasSubstr(": represented: 0000:65:00.0 stands for its group"));
  const auto nonsense = ask({"explain", "GPU0"});
  EXPECT_EQ(nonsense.code, 2);
  EXPECT_THAT(nonsense.said, HasSubstr("'GPU0' is no device here: no PCI address (0000:65:00.0"));
}

TEST_F(PlugindStatus, MetricsAreTextForPrometheus) {
  startAll();
  ASSERT_TRUE(allocate({kFirst}).status.ok());
  const auto metrics = ask({"status", "-o", "metrics", "--timeout", "30000"});
  EXPECT_EQ(metrics.code, 0);
  EXPECT_THAT(metrics.said, HasSubstr("vfiogate_groups{state=\"answered\"} 1\n"));
  EXPECT_THAT(metrics.said,
              HasSubstr("vfiogate_resource_registered{resource=\"" + kResource + "\"} 1\n"));
}

TEST_F(PlugindStatus, SaysWithinItsTimeThatPlugindDoesNotAnswer) {
  startAll();
  plugind_->signal(SIGSTOP);
  const auto before = std::chrono::steady_clock::now();
  const auto asked = ask({"status"});
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.said, HasSubstr("does not answer within 100 ms: it hangs, is stopped"));
  plugind_->signal(SIGCONT);
  EXPECT_EQ(status().at("privd").at("there"), true);
}

TEST_F(PlugindStatus, SaysThatNoPlugindIsThere) {
  const auto asked = ask({"status"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.said, HasSubstr("it does not run, or was started with another --listen"));
}

// Who holds what is no stranger's business, and plugind says in its log who asked.
TEST_F(PlugindStatus, TakesItsOwnUserOnly) {
  startAll();
  const auto asked = ask({"status", "--user", "1234", "--timeout", "30000"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.said, HasSubstr("hung up: it takes its own user only"));
  EXPECT_TRUE(plugind_->says("event=peer_refused"));
}

TEST_F(PlugindStatus, AProbeFailsWithTheReasonWhileNoPodCouldBeServed) {
  startPlugind();
  const auto early = ask({"probe", "--timeout", "30000"});
  EXPECT_EQ(early.code, 1);
  EXPECT_EQ(early.said, "not ready: privd is away\n");
  startKubelet();
  startPrivd();
  ASSERT_TRUE(showsBoth()) << said();
  const auto ready = ask({"probe", "--timeout", "30000"});
  EXPECT_EQ(ready.code, 0);
  EXPECT_EQ(ready.said, "ready: resources registered and streaming: 1\n");
  privd_.reset();
  ASSERT_TRUE(plugind_->says("event=privd_went")) << said();
  EXPECT_EQ(ask({"probe", "--timeout", "30000"}).said, "not ready: privd is away\n");
}

// A kubelet that asks at once would ask again after its period only.
TEST_F(PlugindStatus, AProbeThatWaitsIsOverAsSoonAsAPodCouldBeServed) {
  auto probed = std::async(std::launch::async, [this]() {
    return ask({"probe", "--timeout", "30000", "--wait", "60000"});
  });
  startPlugind();
  startKubelet();
  startPrivd();
  const auto ready = probed.get();
  EXPECT_EQ(ready.code, 0);
  EXPECT_EQ(ready.said, "ready: resources registered and streaming: 1\n");
}

TEST_F(PlugindStatus, AProbeThatWaitedSaysWhatIsMissing) {
  startPlugind();
  const auto before = std::chrono::steady_clock::now();
  const auto late = ask({"probe", "--timeout", "30000", "--wait", "300"});
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(200));
  EXPECT_EQ(late.code, 1);
  EXPECT_EQ(late.said, "not ready: privd is away\n");
}

TEST_F(PlugindStatus, AProbeFailsWhereNoPlugindAnswers) {
  const auto probed = ask({"probe"});
  EXPECT_EQ(probed.code, 1);
  EXPECT_THAT(probed.said, HasSubstr("it does not run, or was started with another --listen"));
}

// What a netd that was taken over learns: as much as it tells anyway.
TEST_F(PlugindStatus, NetdsUserGetsMetricsAndReadinessOnly) {
  startAll();
  const auto askAsNetd = [this](std::vector<std::string> words) {
    words.insert(words.end(), {"--user", "64533", "--timeout", "30000"});
    return ask(std::move(words));
  };
  EXPECT_THAT(askAsNetd({"status", "-o", "metrics"}).said, HasSubstr("vfiogate_adopted"));
  EXPECT_THAT(askAsNetd({"probe"}).said, testing::AnyOf(HasSubstr("ready"), HasSubstr("adopted")));
  for (const auto& words :
       {std::vector<std::string>{"status"}, std::vector<std::string>{"explain", kFirst}}) {
    const auto asked = askAsNetd(words);
    EXPECT_EQ(asked.code, 1) << asked.said;
    EXPECT_THAT(asked.said, HasSubstr("Method not implemented")) << words[0];
  }
}

TEST_F(PlugindStatus, TellsOfThousandsOfDevices) {
  Hardware hardware;
  for (unsigned i = 0; i < 4096; ++i) {
    std::array<char, 16> address{};
    std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.0", 1 + i / 2048, i / 32 % 64,
                  i % 32);
    hardware.add(address.data(), 100 + i);
  }
  startPlugind();
  startKubelet();
  startPrivd(hardware);
  ASSERT_TRUE(plugind_->says("event=stream_opened")) << said();
  const json told = status();
  EXPECT_EQ(told.at("resources").at(0).at("devices").size(), 4096U);
}

TEST_F(PlugindStatus, AVisitThatIsOverLeavesItsPlace) {
  startAll();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status().at("privd").at("there"), true);
}

}  // namespace
}  // namespace vfiogate::test
