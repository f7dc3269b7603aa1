// The stand-in kubelet, DRA: calls that meet each other, restarts, and the file of claims.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include <gmock/gmock.h>

#include <fstream>
#include <stdexcept>
#include <thread>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KubeletDraRestart : public KubeletDra {};

TEST_F(KubeletDraRestart, K29_APodThatJoinsDuringUnprepareGetsNoPrepare) {
  start();
  serve();
  allocate("a", {"p", "q"});
  ASSERT_TRUE(run(pod("p", {"a"})).started);
  PodStart joined;
  service().onUnprepare([&](const TinyDra::Call& call) {
    joined = run(pod("q", {"a"}));
    return TinyDra::prepared(call);
  });
  kubelet_->end("p");
  EXPECT_TRUE(joined.started);
  EXPECT_EQ(service().prepares().size(), 1U);
  EXPECT_THAT(kubelet_->claimRecords(), IsEmpty()) << "the pod's reference went with it";
  EXPECT_THAT(kubelet_->restartContainer("q", "c").error, HasSubstr("unable to get claim info"));
}

TEST_F(KubeletDraRestart, K29_TwoPodsMayPrepareOneClaimAtTheSameTime) {
  start();
  serve().onPrepare([&](const TinyDra::Call& call) {
    EXPECT_TRUE(service().awaitPrepares(2)) << "neither waits for the other";
    return TinyDra::prepared(call);
  });
  allocate("a", {"p", "q"});
  ASSERT_TRUE(kubelet_->admit(pod("p", {"a"})).admitted);
  ASSERT_TRUE(kubelet_->admit(pod("q", {"a"})).admitted);
  std::thread other([&]() { EXPECT_TRUE(kubelet_->startPod("q").started); });
  const PodStart started = kubelet_->startPod("p");
  other.join();
  EXPECT_TRUE(started.started);
  EXPECT_THAT(started.containers.at("c").cdiDevices, ElementsAre("example.com/vfio=uid-a"));
  EXPECT_EQ(service().prepares().size(), 2U);
}

TEST_F(KubeletDraRestart, K28_ARestartedKubeletPreparesForTheNextSandboxOnly) {
  runOne();
  kubelet_->restart();
  ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver));
  EXPECT_THAT(kubelet_->restartContainer("p", "c").cdiDevices,
              ElementsAre("example.com/vfio=uid-a"))
      << "as the file has it";
  EXPECT_EQ(service().prepares().size(), 1U);
  kubelet_->loseSandbox("p");
  EXPECT_TRUE(kubelet_->startPod("p").started);
  EXPECT_EQ(service().prepares().size(), 2U);
}

TEST_F(KubeletDraRestart, K28_WhatAnotherPrepareSaysIsAppendedOrReplaces) {
  for (const bool appends : {true, false}) {
    clear();
    options_.dra.appendsDevices = appends;
    runOne();
    kubelet_->powerOff();
    kubelet_->start();
    ASSERT_TRUE(kubelet_->awaitDraConnected(kDriver));
    service().onPrepare([](const TinyDra::Call&) {
      return TinyDra::Answer{{{"uid-a", {{{.device = "d", .cdiDevices = {"v/c=other"}}}}}}};
    });
    const PodStart again = kubelet_->startPod("p");
    ASSERT_TRUE(again.started);
    using Names = std::vector<std::string>;
    EXPECT_EQ(again.containers.at("c").cdiDevices,
              appends ? Names({"example.com/vfio=uid-a", "v/c=other"}) : Names({"v/c=other"}))
        << "T29";
    kubelet_->end("p");
  }
}

TEST_F(KubeletDraRestart, K28_ThePodsThatWaitedGoOn) {
  times().prepareAgain = times().prepareAgainAtMost = std::chrono::milliseconds(50);
  times().syncAgain = times().syncAgainAtMost = std::chrono::milliseconds(50);
  runOne();
  const auto busy = [](const TinyDra::Call&) {
    return TinyDra::Answer{.claims = {}, .error = "busy"};
  };
  service().onPrepare(busy);
  service().onUnprepare(busy);
  allocate("b", {"q"});
  EXPECT_FALSE(run(pod("q", {"b"})).started);
  kubelet_->end("p");
  kubelet_->stop();
  service().onPrepare({});
  service().onUnprepare({});
  kubelet_->start();
  EXPECT_TRUE(kubelet_->awaitStarted("q"));
  EXPECT_TRUE(kubelet_->awaitEnded("p"));
}

TEST_F(KubeletDraRestart, K28_ACorruptFileKeepsTheKubeletFromStarting) {
  runOne();
  kubelet_->stop();
  std::fstream damaged(dir_ / "dra_manager_state");
  damaged.seekp(40);
  damaged << "X";
  damaged.close();
  EXPECT_THROW(kubelet_->start(), std::runtime_error);
  std::filesystem::remove(dir_ / "dra_manager_state");
  kubelet_->start();
  EXPECT_THAT(kubelet_->claimRecords(), IsEmpty());
}

TEST(ClaimCheckpoint, K28_HasTheChecksumOfItsInnerText) {
  EXPECT_THAT(formatClaims(std::nullopt), HasSubstr("\"Checksum\":4010664294}"));
  EXPECT_THAT(formatClaims(std::vector<ClaimRecord>()), HasSubstr("\"Checksum\":2361995144}"));
}

TEST(ClaimCheckpoint, K28_IsReadAsItWasWritten) {
  const std::vector<ClaimRecord> claims = {{.uid = "u",
                                            .name = "n",
                                            .nameSpace = "s",
                                            .podUids = {"p", "q"},
                                            .drivers = {{"a.example.com", {}},
                                                        {"b.example.com",
                                                         {{.pool = "<&>", .device = "d"},
                                                          {.pool = "p",
                                                           .device = "e",
                                                           .shareId = "x",
                                                           .requests = {"r"},
                                                           .cdiDevices = {"v/c=1", "v/c=2"}}}}}}};
  ClaimRecords read;
  ASSERT_TRUE(parseClaims(formatClaims(claims), read));
  EXPECT_EQ(*read, claims);
}

}  // namespace
}  // namespace vfiogate::sim
