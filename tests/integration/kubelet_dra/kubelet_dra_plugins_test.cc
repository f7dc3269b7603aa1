// The stand-in kubelet, DRA: whom it registers, whom it asks, and whose slices it wipes.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include <gmock/gmock.h>

#include <chrono>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KubeletDraPlugins : public KubeletDra {};

TEST_F(KubeletDraPlugins, K25_TheFirstIdentifierThatItKnowsWins) {
  start();
  serve(kDriver, "one", {"v9.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAPlugin"});
  EXPECT_THAT(kubelet_->watchedPlugins(),
              ElementsAre("DRAPlugin " + kDriver + " v1beta1.DRAPlugin"));
  allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  kubelet_->end("p");
  ASSERT_EQ(service().calls().size(), 2U);
  for (const auto& call : service().calls()) EXPECT_EQ(call.version, "v1beta1");
}

TEST_F(KubeletDraPlugins, K25_ShareIdsAreOfTheNewerVersionOnly) {
  start();
  const auto shared = [](const TinyDra::Call& call) {
    return TinyDra::Answer{{{call.uids[0], {{{.device = "d", .shareId = "s"}}}}}};
  };
  serve(kDriver, "one", {"v1.DRAPlugin"}).onPrepare(shared);
  serve("old.example.com", "two", {"v1beta1.DRAPlugin"}).onPrepare(shared);
  allocate("a", {"p"}, {kDriver, "old.example.com"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  const ClaimRecord record = kubelet_->claimRecords().at(0);
  EXPECT_EQ(record.drivers.at(kDriver).at(0).shareId, "s");
  EXPECT_EQ(record.drivers.at("old.example.com").at(0).shareId, std::nullopt);
}

TEST_F(KubeletDraPlugins, K25_ListsWithoutAKnownIdentifierAreRefused) {
  start();
  const std::vector<std::vector<std::string>> lists = {
      {}, {"1.0.0"}, {"v1alpha1.DRAResourceHealth"}};
  for (const auto& versions : lists) {
    auto& registration = announce("one", kDriver, versions);
    ASSERT_TRUE(registration.awaitNotices(1));
    EXPECT_FALSE(registration.notices()[0].registered);
    EXPECT_THAT(kubelet_->draInstances(kDriver), IsEmpty());
  }
}

TEST_F(KubeletDraPlugins, K25_ARegistrationDoesNotWaitForTheConnection) {
  start();
  auto& registration = announce("one");
  ASSERT_TRUE(registration.awaitNotices(1));
  EXPECT_TRUE(registration.notices()[0].registered);
  EXPECT_THAT(kubelet_->draInstances(kDriver),
              ElementsAre(DraInstance{socketOf("one"), "v1.DRAPlugin", false}));
  drivers_["one"].service.emplace(socketOf("one"));
  EXPECT_TRUE(kubelet_->awaitDraConnected(kDriver)) << "as soon as it is there";
}

TEST_F(KubeletDraPlugins, K25_TheNewestConnectedInstanceIsAsked) {
  start();
  TinyDra& old = serve(kDriver, "old");
  TinyDra& fresh = serve(kDriver, "fresh");
  allocate("a", {"p"});
  allocate("b", {"q"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  EXPECT_EQ(old.calls().size(), 0U);
  EXPECT_EQ(fresh.calls().size(), 1U);
  drivers_["fresh"].service.reset();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 1));
  ASSERT_TRUE(run(pod("q", {"b"})).started);
  EXPECT_EQ(old.calls().size(), 1U);
}

TEST_F(KubeletDraPlugins, K25_WhereNoneIsConnectedTheCallFailsAtOnce) {
  start();
  serve();
  drivers_["one"].service.reset();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 0));
  allocate("a", {"p"});
  EXPECT_THAT(run(pod("p", {"a"})).error, HasSubstr("code = Unavailable"));
}

TEST_F(KubeletDraPlugins, K25_AnEndpointTwiceIsRefused) {
  start();
  serve();
  TinyRegistration second(registryOf("second"), "DRAPlugin", kDriver, {"v1.DRAPlugin"},
                          socketOf("one"));
  ASSERT_TRUE(second.awaitNotices(1));
  EXPECT_FALSE(second.notices()[0].registered);
  EXPECT_THAT(second.notices()[0].error, HasSubstr("already registered"));
  EXPECT_EQ(kubelet_->draInstances(kDriver).size(), 1U);
}

TEST_F(KubeletDraPlugins, K25_AnInstanceWhoseRegistrationSocketGoesIsForgottenAndNoOther) {
  start();
  serve(kDriver, "old");
  serve(kDriver, "fresh");
  std::filesystem::remove(registryOf("fresh"));
  ASSERT_TRUE(kubelet_->awaitDra(kDriver, [](const auto& left) { return left.size() == 1; }));
  EXPECT_EQ(kubelet_->draInstances(kDriver)[0].endpoint, socketOf("old"));
  EXPECT_THAT(kubelet_->watchedPlugins(), Contains("DRAPlugin " + kDriver + " v1.DRAPlugin"));
  allocate("a", {"p"});
  EXPECT_TRUE(run(pod("p", {"a"})).started);
}

TEST_F(KubeletDraPlugins, K25_ALostConnectionIsMadeAgainWithoutARegistration) {
  start();
  serve();
  drivers_["one"].service.reset();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 0));
  drivers_["one"].service.emplace(socketOf("one"));
  EXPECT_TRUE(kubelet_->awaitDraConnected(kDriver, 1));
  EXPECT_EQ(drivers_["one"].registration->asked(), 1U);
}

TEST_F(KubeletDraPlugins, K24_NamesLocalhostToADraDriver) {
  start();
  serve();
  allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  EXPECT_EQ(service().authority(), "localhost");
}

TEST_F(KubeletDraPlugins, K30_WipesTheNodesSlicesAtStart) {
  start();
  EXPECT_EQ(slices_->of("*").size(), 1U) << "before start() is over";
  kubelet_->restart();
  EXPECT_EQ(slices_->of("*").size(), 2U);
}

TEST_F(KubeletDraPlugins, K30_WipesADriversSlicesSomeTimeAfterItsLastConnection) {
  times().wipeAfter = milliseconds(300);
  start();
  serve(kDriver, "old");
  serve(kDriver, "fresh");
  drivers_["old"].service.reset();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 1));
  const auto lost = std::chrono::steady_clock::now();
  drivers_["fresh"].service.reset();
  ASSERT_TRUE(slices_->await(kDriver, 1));
  EXPECT_GE(slices_->of(kDriver)[0] - lost, milliseconds(300));
  EXPECT_EQ(slices_->of("*").size(), 1U);
}

TEST_F(KubeletDraPlugins, K30_AReconnectionKeepsTheSlices) {
  times().wipeAfter = milliseconds(2000);
  start();
  serve();
  drivers_["one"].service.reset();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 0));
  drivers_["one"].service.emplace(socketOf("one"));
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver, 1));
  // Another driver, lost later, is wiped first.
  serve("other.example.com", "other");
  drivers_["other"].service.reset();
  ASSERT_TRUE(slices_->await("other.example.com", 1));
  EXPECT_THAT(slices_->of(kDriver), IsEmpty());
}

TEST_F(KubeletDraPlugins, K30_WipesForWhoNeverConnectedAndForWhoIsDeregistered) {
  times().wipeAfter = milliseconds(200);
  start();
  ASSERT_TRUE(announce("one").awaitNotices(1));
  EXPECT_TRUE(slices_->await(kDriver, 1));
  serve("other.example.com", "other");
  std::filesystem::remove(registryOf("other"));
  EXPECT_TRUE(slices_->await("other.example.com", 1));
}

TEST_F(KubeletDraPlugins, K30_AWipeThatFailsIsTriedAgain) {
  times().wipeAfter = times().wipeAgain = milliseconds(50);
  slices_->fail(1);
  start();
  ASSERT_TRUE(slices_->await("*", 1));
  serve();
  slices_->fail(2);
  drivers_["one"].service.reset();
  EXPECT_TRUE(slices_->await(kDriver, 1));
}

}  // namespace
}  // namespace vfiogate::sim
