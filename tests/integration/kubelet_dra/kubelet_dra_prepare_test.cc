// The stand-in kubelet, DRA: when it has claims prepared, and what containers get of them.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class KubeletDraPrepare : public KubeletDra {};

TEST_F(KubeletDraPrepare, K26_APodsClaimsArePreparedBeforeItsContainersStart) {
  start();
  std::set<std::string> running = {"not asked"};
  serve().onPrepare([&](const TinyDra::Call& call) {
    running = kubelet_->running("p");
    return TinyDra::prepared(call);
  });
  allocate("a", {"p"});
  const PodStart started = run(pod("p", {"a"}));
  ASSERT_TRUE(started.started) << started.error;
  EXPECT_THAT(running, IsEmpty());
  EXPECT_THAT(kubelet_->running("p"), ElementsAre("c"));
  EXPECT_THAT(started.containers.at("c").cdiDevices, ElementsAre("example.com/vfio=uid-a"));
  EXPECT_THAT(service().prepares().at(0).names, ElementsAre("default/a"));
}

TEST_F(KubeletDraPrepare, K26_AdmissionPreparesNothing) {
  start();
  serve();
  allocate("a", {"p"});
  ASSERT_TRUE(kubelet_->admit(pod("p", {"a"})).admitted);
  EXPECT_THAT(service().calls(), IsEmpty());
}

TEST_F(KubeletDraPrepare, K26_AClaimThatNoContainerUsesIsPreparedToo) {
  start();
  serve();
  allocate("a", {"p"});
  PodSpec idle = pod("p", {"a"});
  idle.containers[0].claims.clear();
  const PodStart started = run(idle);
  ASSERT_TRUE(started.started);
  EXPECT_EQ(service().prepares().size(), 1U);
  EXPECT_THAT(started.containers.at("c").cdiDevices, IsEmpty());
}

TEST_F(KubeletDraPrepare, K26_WhatIsNotInOrderIsNeitherAskedForNorRecorded) {
  start();
  serve();
  allocate("good", {"p"});
  allocate("stranger", {"p"}, {"nobody.example.com"});
  allocate("reserved-for-others", {"q"});
  ResourceClaim open = allocate("open", {"p"});
  open.allocated = false;
  claims_->put(open);
  ResourceClaim owned = allocate("owned", {"p"});
  owned.ownerPodUid = "q";
  claims_->put(owned);
  const std::map<std::string, std::string> wrong = {
      {"stranger", "DRA driver nobody.example.com is not registered"},
      {"reserved-for-others", "not allowed to use"},
      {"open", "is not allocated"},
      {"owned", "was not created for pod"},
      {"missing", "not found"},
      {"", "not created yet"}};
  for (const auto& [name, words] : wrong) {
    PodSpec bad = pod("p", {"good", name});
    bad.claims[1].fromTemplate = name == "owned";
    const PodStart refused = run(bad);
    EXPECT_FALSE(refused.sandbox);
    EXPECT_THAT(refused.error, HasSubstr(words));
    EXPECT_THAT(kubelet_->podEvents("p").back(), HasSubstr("FailedPrepareDynamicResources: "));
  }
  claims_->fail("the API server is away");
  EXPECT_THAT(run(pod("p", {"good"})).error, HasSubstr("the API server is away"));
  EXPECT_THAT(service().calls(), IsEmpty());
  EXPECT_THAT(kubelet_->claimRecords(), IsEmpty());
}

TEST_F(KubeletDraPrepare, K26_TheClaimIsWrittenDownBeforeTheCall) {
  start();
  EXPECT_FALSE(file()) << "a fresh node's list is null";
  ClaimRecords during;
  serve().onPrepare([&](const TinyDra::Call& call) {
    during = file();
    return TinyDra::prepared(call);
  });
  allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  EXPECT_THAT(*during, ElementsAre(ClaimRecord{"uid-a", "a", "default", {"p"}, {{kDriver, {}}}}));
  ASSERT_EQ(file()->at(0).drivers.at(kDriver).size(), 1U);
  EXPECT_EQ(file()->at(0).drivers.at(kDriver)[0].device, "uid-a");
  const auto mode = std::filesystem::status(dir_ / "dra_manager_state").permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0600U);
}

TEST_F(KubeletDraPrepare, K26_OneCallForADriverWithAllItsClaims) {
  start();
  serve();
  serve("other.example.com", "other");
  allocate("a", {"p"});
  allocate("b", {"p"}, {kDriver, "other.example.com"});
  ASSERT_TRUE(run(pod("p", {"a", "b"})).started);
  ASSERT_EQ(service().prepares().size(), 1U);
  EXPECT_THAT(service().prepares()[0].uids, UnorderedElementsAre("uid-a", "uid-b"));
  ASSERT_EQ(service("other").prepares().size(), 1U);
  EXPECT_THAT(service("other").prepares()[0].uids, ElementsAre("uid-b"));
}

TEST_F(KubeletDraPrepare, K26_DriversAreAskedOneByOneInAnyOrder) {
  start();
  std::mutex mutex;
  std::string order;
  const auto note = [&](char letter) {
    return [&, letter](const TinyDra::Call& call) {
      const std::lock_guard lock(mutex);
      order += letter;
      return TinyDra::prepared(call);
    };
  };
  serve().onPrepare(note('a'));
  serve("other.example.com", "other").onPrepare(note('b'));
  std::set<std::string> orders;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "claim-" + std::to_string(i);
    allocate(name, {"p" + name}, {kDriver, "other.example.com"});
    order.clear();
    ASSERT_TRUE(run(pod("p" + name, {name})).started);
    orders.insert(order);
  }
  EXPECT_THAT(orders, ElementsAre("ab", "ba"));
}

TEST_F(KubeletDraPrepare, K26_ACallHas45Seconds) {
  start();
  serve();
  allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  EXPECT_GT(service().calls()[0].within, milliseconds(40'000));
  EXPECT_LE(service().calls()[0].within, milliseconds(46'000)) << "gRPC rounds it";
}

TEST_F(KubeletDraPrepare, K26_ACallThatTakesLongerFails) {
  times().call = milliseconds(200);
  start();
  std::promise<void> over;
  // The driver outlives this test, and may still be in the call at its end.
  serve().onPrepare([told = over.get_future().share()](const TinyDra::Call& call) {
    told.wait();
    return TinyDra::prepared(call);
  });
  allocate("a", {"p"});
  EXPECT_THAT(run(pod("p", {"a"})).error, HasSubstr("code = DeadlineExceeded"));
  over.set_value();
  EXPECT_EQ(kubelet_->claimRecords().size(), 1U) << "the reference stays";
}

TEST_F(KubeletDraPrepare, K26_RepliesAreChecked) {
  start();
  serve();
  const std::vector<std::pair<TinyDra::Answer, std::string>> wrong = {
      {{.claims = {}, .error = "not today"}, "code = Unavailable desc = not today"},
      {{{{"uid-a", {}}, {"uid-x", {}}}}, "unknown claim UID uid-x"},
      {{{{"uid-a", {{}, "in use"}}}}, "failed for claim default/a: in use"},
      {{}, "skipped 1 ResourceClaims"}};
  allocate("a", {"p"});
  for (const auto& [answer, words] : wrong) {
    service().onPrepare([&, given = answer](const TinyDra::Call&) { return given; });
    EXPECT_THAT(run(pod("p", {"a"})).error, HasSubstr(words));
    EXPECT_THAT(kubelet_->running("p"), IsEmpty());
  }
  service().onPrepare([](const TinyDra::Call&) { return TinyDra::Answer{{{"uid-a", {}}}}; });
  EXPECT_TRUE(kubelet_->startPod("p").started) << "an empty entry is success without devices";
}

TEST_F(KubeletDraPrepare, K26_AFailureLeavesWhatOtherDriversPrepared) {
  start();
  serve();
  serve("other.example.com", "other").onPrepare([](const TinyDra::Call&) {
    return TinyDra::Answer{{{"uid-a", {{}, "in use"}}}};
  });
  allocate("a", {"p"}, {kDriver, "other.example.com"});
  ASSERT_FALSE(run(pod("p", {"a"})).started);
  while (service().prepares().empty()) ASSERT_FALSE(kubelet_->startPod("p").started);
  EXPECT_THAT(service().unprepares(), IsEmpty());
  EXPECT_FALSE(kubelet_->claimRecords().at(0).drivers.at(kDriver).empty());
}

TEST_F(KubeletDraPrepare, K26_WhatFailedIsTriedAgainAtTheNextResync) {
  times().prepareAgain = milliseconds(300);
  times().prepareAgainAtMost = milliseconds(400);
  start();
  std::atomic<bool> first = true;
  serve().onPrepare([&first](const TinyDra::Call& call) {
    if (!first.exchange(false)) return TinyDra::prepared(call);
    return TinyDra::Answer{.claims = {}, .error = "later"};
  });
  allocate("a", {"p"});
  ASSERT_FALSE(run(pod("p", {"a"})).started);
  ASSERT_TRUE(kubelet_->awaitStarted("p"));
  EXPECT_THAT(kubelet_->running("p"), ElementsAre("c"));
  const auto calls = service().prepares();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_GE(calls[1].came - calls[0].came, milliseconds(290));
  EXPECT_EQ(kubelet_->podEvents("p").size(), 1U);
}

TEST_F(KubeletDraPrepare, K26_WhatIsPreparedIsNotPreparedAgainInOneLife) {
  start();
  serve();
  allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  const auto restarted = kubelet_->restartContainer("p", "c");
  EXPECT_THAT(restarted.cdiDevices, ElementsAre("example.com/vfio=uid-a"));
  kubelet_->loseSandbox("p");
  EXPECT_TRUE(kubelet_->startPod("p").started) << "T28";
  EXPECT_EQ(service().prepares().size(), 1U);
}

TEST_F(KubeletDraPrepare, K26_AnotherClaimOfTheNameWaitsUntilTheOldOneIsGone) {
  start();
  serve();
  ResourceClaim claim = allocate("a", {"p"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  claim.uid = "uid-new";
  claim.reservedFor = {"q"};
  claims_->put(claim);
  EXPECT_THAT(run(pod("q", {"a"})).error, HasSubstr("different UID uid-a still exists"));
  kubelet_->end("p");
  EXPECT_TRUE(kubelet_->startPod("q").started);
}

}  // namespace
}  // namespace vfiogate::sim
