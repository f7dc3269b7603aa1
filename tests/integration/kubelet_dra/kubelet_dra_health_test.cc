// The stand-in kubelet, DRA: what becomes of what drivers say of their devices' health.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr int kHealthy = 1;
constexpr int kUnhealthy = 2;

class KubeletDraHealth : public KubeletDra {
protected:
  /// A pod "p" with claim "a", for which the driver names device "d".
  void runOne() {
    start();
    serve().onPrepare([](const TinyDra::Call& call) {
      return TinyDra::Answer{{{call.uids[0], {{{.device = "d", .cdiDevices = {"v/c=d"}}}}}}};
    });
    allocate("a", {"p"});
    ASSERT_TRUE(run(pod("p", {"a"})).started);
  }
  SeenHealth seen(const std::string& device = "d") {
    return kubelet_->deviceHealth(kDriver, "pool", device);
  }
};

TEST_F(KubeletDraHealth, K31_OpensAStreamToEveryInstanceAtOnce) {
  start();
  EXPECT_TRUE(serve(kDriver, "old").awaitStreams(1)) << "it did not advertise the service";
  EXPECT_TRUE(serve(kDriver, "fresh").awaitStreams(1));
  EXPECT_EQ(service("old").streams().size(), 1U);
}

TEST_F(KubeletDraHealth, K31_OpensItAgainSomeTimeAfterItsEnd) {
  times().watchAgain = milliseconds(300);
  start();
  serve();
  ASSERT_TRUE(service().awaitStreams(1));
  const auto ended = std::chrono::steady_clock::now();
  service().endStreams();
  ASSERT_TRUE(service().awaitStreams(2));
  EXPECT_GE(service().streams()[1] - ended, milliseconds(300));
}

TEST_F(KubeletDraHealth, K31_ADriverWithoutTheServiceIsNoneTheWorse) {
  times().watchAgain = milliseconds(20);
  start();
  serve(kDriver, "one", {"v1.DRAPlugin"}, false);
  allocate("a", {"p"});
  EXPECT_TRUE(run(pod("p", {"a"})).started);
  EXPECT_EQ(kubelet_->draInstances(kDriver).size(), 1U);
}

TEST_F(KubeletDraHealth, K31_ChangesRefreshTheStatusOfThePodsThatUseTheDevice) {
  runOne();
  service().show({{"d", kUnhealthy, "ECC"}, {"other", kUnhealthy}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 1));
  EXPECT_THAT(kubelet_->deviceStatuses("p"),
              ElementsAre(DeviceStatus{"c", "claim:my-a", "v/c=d", "Unhealthy", "ECC"}));
  EXPECT_EQ(seen(), (SeenHealth{"Unhealthy", "ECC"}));
  service().show({{"d", kUnhealthy, "ECC"}, {"other", kHealthy}});  // nothing new of d
  service().show({{"d", kHealthy}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 2));
  EXPECT_EQ(seen(), SeenHealth{"Healthy"});
  EXPECT_EQ(kubelet_->statusRefreshes("p"), 2U);
  service().show({{"d", kHealthy, "", 77}});
  EXPECT_TRUE(kubelet_->awaitStatusRefreshes("p", 3)) << "another timeout is news too";
}

TEST_F(KubeletDraHealth, K31_WhatIsNotHeardOfForItsTimeIsUnknown) {
  times().stale = milliseconds(100);
  times().healthSecond = milliseconds(1000);
  runOne();
  service().show({{"d", kHealthy}, {"e", kHealthy, "", 3600}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 1));
  EXPECT_EQ(seen("e").health, "Healthy");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // A time that runs out tells nobody: look.
  while (seen().health == "Healthy") ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_EQ(seen(), SeenHealth());
  EXPECT_EQ(seen("e").health, "Healthy") << "the device's own timeout";
  EXPECT_EQ(kubelet_->statusRefreshes("p"), 1U);
}

TEST_F(KubeletDraHealth, K31_LongMessagesAreCut) {
  runOne();
  service().show(
      {{"d", kUnhealthy, std::string(1024, 'x')}, {"e", kUnhealthy, std::string(1025, 'y')}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 1));
  EXPECT_EQ(seen().message, std::string(1024, 'x'));
  EXPECT_EQ(seen("e").message, std::string(1021, 'y') + "...");
}

TEST_F(KubeletDraHealth, K31_TheEndOfAStreamErasesWhatTheDriverSaid) {
  runOne();
  service().show({{"d", kHealthy}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 1));
  service().endStreams();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (seen() != SeenHealth()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_EQ(kubelet_->statusRefreshes("p"), 1U);
}

TEST_F(KubeletDraHealth, K31_KeepsItInAFile) {
  runOne();
  service().show({{"d", kUnhealthy, "bad", 7}});
  ASSERT_TRUE(kubelet_->awaitStatusRefreshes("p", 1));
  const std::string path = dir_ / "dra_health_state";
  const auto file = nlohmann::json::parse(keptText(path));
  const auto& device = file.at(kDriver).at("Devices").at("pool/d");
  EXPECT_EQ(device.at("PoolName"), "pool");
  EXPECT_EQ(device.at("DeviceName"), "d");
  EXPECT_EQ(device.at("Health"), "Unhealthy");
  EXPECT_EQ(device.at("HealthCheckTimeout"), 7'000'000'000);
  EXPECT_EQ(device.at("Message"), "bad");
  EXPECT_THAT(device.at("LastUpdated").get<std::string>(), testing::EndsWith("Z"));
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path).permissions()), 0600U);
  kubelet_->stop();
  EXPECT_EQ(DraHealth(path, times()).of(kDriver, {"pool", "d"}), (SeenHealth{"Unhealthy", "bad"}));
}

}  // namespace
}  // namespace vfiogate::sim
