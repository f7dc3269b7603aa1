// The stand-in kubelet, DRA: when it has claims unprepared, and what a driver may not rely on.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

TinyDra::Answer busy(const TinyDra::Call& /*call*/) {
  return {.claims = {}, .error = "busy"};
}

class KubeletDraUnprepare : public KubeletDra {};

TEST_F(KubeletDraUnprepare, K27_APodsClaimsAreUnpreparedAfterItsContainersHaveEnded) {
  runOne();
  std::set<std::string> running = {"not asked"};
  service().onUnprepare([&](const TinyDra::Call& call) {
    running = kubelet_->running("p");
    EXPECT_FALSE(file()->empty()) << "until it is done";
    return TinyDra::prepared(call);
  });
  kubelet_->end("p");
  EXPECT_THAT(running, IsEmpty());
  ASSERT_EQ(service().unprepares().size(), 1U);
  EXPECT_THAT(service().unprepares()[0].uids, ElementsAre("uid-a"));
  EXPECT_THAT(*file(), IsEmpty());
  EXPECT_FALSE(kubelet_->isTerminating("p"));
}

TEST_F(KubeletDraUnprepare, K27_AFailureKeepsThePodTerminatingAndIsTriedAgain) {
  times().syncAgain = milliseconds(300);
  times().syncAgainAtMost = milliseconds(400);
  runOne();
  std::atomic<bool> first = true;
  service().onUnprepare([&](const TinyDra::Call& call) {
    return first.exchange(false) ? busy(call) : TinyDra::prepared(call);
  });
  kubelet_->end("p");
  EXPECT_TRUE(kubelet_->isTerminating("p"));
  EXPECT_EQ(kubelet_->claimRecords().size(), 1U);
  ASSERT_TRUE(kubelet_->awaitEnded("p"));
  const auto calls = service().unprepares();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_GE(calls[1].came - calls[0].came, milliseconds(290));
  EXPECT_THAT(kubelet_->claimRecords(), IsEmpty());
}

TEST_F(KubeletDraUnprepare, K27_ATerminatingPodIsNotReconciled) {
  times().reconcile = milliseconds(50);
  runOne();
  service().onUnprepare(busy);
  kubelet_->end("p");
  allocate("gone", {"q"});
  ASSERT_TRUE(run(pod("q", {"gone"})).started);
  kubelet_->forceDelete("q");
  ASSERT_TRUE(service().awaitUnprepares(4));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_THAT(service().unprepares()[i].uids, ElementsAre("uid-gone")) << "tried at each poll";
  }
}

TEST_F(KubeletDraUnprepare, K27_ADriverThatIsNotThereKeepsThePodTerminating) {
  times().syncAgain = times().syncAgainAtMost = milliseconds(50);
  runOne();
  std::filesystem::remove(registryOf("one"));
  ASSERT_TRUE(kubelet_->awaitDra(kDriver, [](const auto& left) { return left.empty(); }));
  kubelet_->end("p");
  EXPECT_TRUE(kubelet_->isTerminating("p"));
  ASSERT_TRUE(announce("one").awaitNotices(1));
  EXPECT_TRUE(kubelet_->awaitEnded("p"));
}

TEST_F(KubeletDraUnprepare, K27_ASharedClaimIsUnpreparedWithItsLastPod) {
  start();
  serve();
  allocate("a", {"p", "q"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  ASSERT_TRUE(run(pod("q", {"a"})).started);
  EXPECT_EQ(service().prepares().size(), 1U);
  kubelet_->end("p");
  EXPECT_THAT(service().unprepares(), IsEmpty());
  kubelet_->end("q");
  EXPECT_EQ(service().unprepares().size(), 1U);
}

TEST_F(KubeletDraUnprepare, K27_WhatIsNotRememberedIsNotUnprepared) {
  start();
  serve();
  allocate("a", {"another"});
  EXPECT_FALSE(run(pod("p", {"a"})).started);
  kubelet_->end("p");
  EXPECT_FALSE(kubelet_->isTerminating("p"));
  EXPECT_THAT(service().calls(), IsEmpty());
}

// The guarantees that a driver does not have (5.3), one by one.

TEST_F(KubeletDraUnprepare, K27_UnprepareDoesNotImplyThatContainersHaveStopped) {
  times().reconcile = milliseconds(50);
  runOne();
  std::set<std::string> running;
  service().onUnprepare([&](const TinyDra::Call& call) {
    running = kubelet_->running("p");
    return TinyDra::prepared(call);
  });
  kubelet_->forceDelete("p");
  ASSERT_TRUE(service().awaitUnprepares(1));
  EXPECT_THAT(kubelet_->running("p"), ElementsAre("c"));
  kubelet_->end("p");
  EXPECT_TRUE(kubelet_->awaitEnded("p"));
}

TEST_F(KubeletDraUnprepare, K27_UnprepareDoesNotImplyThatNoPodUsesTheClaim) {
  for (const bool fixed : {false, true}) {
    clear();
    options_.dra.lastReferenceIsAnybodys = !fixed;
    runOne();
    EXPECT_FALSE(run(pod("q", {"a"})).started) << "it is not reserved for it";
    kubelet_->end("q");
    EXPECT_EQ(service().unprepares().size(), fixed ? 0U : 1U);
    EXPECT_THAT(kubelet_->running("p"), ElementsAre("c"));
    kubelet_->end("p");
  }
}

TEST_F(KubeletDraUnprepare, K27_ASecondTryUnpreparesTheClaimOfTheSurvivor) {
  times().syncAgain = times().syncAgainAtMost = milliseconds(50);
  start();
  serve();
  allocate("shared", {"p", "q"});
  allocate("own", {"p"});
  ASSERT_TRUE(run(pod("q", {"shared"})).started);
  ASSERT_TRUE(run(pod("p", {"own", "shared"})).started);
  std::atomic<bool> first = true;
  service().onUnprepare([&](const TinyDra::Call& call) {
    return first.exchange(false) ? busy(call) : TinyDra::prepared(call);
  });
  kubelet_->end("p");
  ASSERT_TRUE(kubelet_->awaitEnded("p"));
  const auto calls = service().unprepares();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_THAT(calls[0].uids, ElementsAre("uid-own"));
  EXPECT_THAT(calls[1].uids, ElementsAre("uid-own", "uid-shared")) << "q still uses it";
}

TEST_F(KubeletDraUnprepare, K27_UnprepareMayFollowAPrepareThatFailed) {
  start();
  serve().onPrepare(busy);
  allocate("a", {"p"});
  EXPECT_FALSE(run(pod("p", {"a"})).started);
  kubelet_->end("p");
  EXPECT_EQ(service().unprepares().size(), 1U);
}

TEST_F(KubeletDraUnprepare, K27_TheClaimNeedNotExistAnyMore) {
  runOne();
  claims_->remove("default", "a");
  claims_->fail("nobody is asked");
  kubelet_->end("p");
  EXPECT_EQ(service().unprepares().size(), 1U);
}

TEST_F(KubeletDraUnprepare, K27_LooksAtItsStartForPodsThatAreGone) {
  start();
  serve();
  allocate("a", {"p", "q"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  ASSERT_TRUE(run(pod("q", {"a"})).started);
  kubelet_->stop();
  kubelet_->forceDelete("p");
  kubelet_->start();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // The second poll would be later than that.
  while (kubelet_->claimRecords().at(0).podUids.size() > 1) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  EXPECT_THAT(service().unprepares(), IsEmpty());
}

TEST_F(KubeletDraUnprepare, K27_FindsNobodyGoneBeforeItKnowsAllPods) {
  times().reconcile = milliseconds(50);
  runOne();
  kubelet_->restart({.sourcesReady = false});
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver));
  ASSERT_TRUE(kubelet_->admit(pod("p", {"a"})).admitted);
  allocate("b", {"q"});
  ASSERT_TRUE(run(pod("q", {"b"})).started);
  kubelet_->sourcesReady();
  kubelet_->forceDelete("q");
  ASSERT_TRUE(service().awaitUnprepares(1));
  EXPECT_THAT(service().unprepares()[0].uids, ElementsAre("uid-b"));
}

}  // namespace
}  // namespace vfiogate::sim
