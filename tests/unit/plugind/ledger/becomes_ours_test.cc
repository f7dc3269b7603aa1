// What is somebody's in the kubelet's memory before a reload or news of the hardware makes it ours.

#include <gmock/gmock.h>

#include "plugind/core/ledger/frames/frames.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;

/// What the kubelet remembers is under names and devices that become ours by a reload, or with news
/// of the hardware. With claims alone no frame follows that would make it write anew.
class BecomesOurs : public LedgerCase {
protected:
  BecomesOurs() {
    node.settings.resources[0].select = *Selector::parse("address=" + std::string(kC));
    for (ResourceSettings& entry : node.settings.resources) entry.allocation.serve = Serve::kDra;
  }
  void remember(const std::string& name, const std::string& id) {
    node.entries.push_back({"p1", "main", name, {id}, std::nullopt, std::nullopt});
  }
  /// Of a, in whose group nothing is ours.
  void rememberAnotherPlugins() {
    std::erase_if(node.settings.resources, [](const ResourceSettings& entry) {
      return entry.name == test::resource("other");
    });
    remember("example.com/gpu", kA);
  }
  void reload() {
    node.run(node.ledger.reconfigured({}, sortIntoResources(node.settings, node.facts.snapshot),
                                      node.facts.specs, node.now));
  }
  /// Another kubelet, which begins with nothing.
  void loseCheckpoint() {
    node.move(1s);
    node.newKubelet();
    node.entries.clear();
    node.move(1s);
    node.write();
  }
  /// The checkpoint that the kubelet before this one left is there still.
  void goOn(const CheckpointVersion& left) {
    node.move(1s);
    node.run(node.ledger.versionRead(left, false, node.now, node.now.instant));
    node.write();
    ASSERT_TRUE(node.ledger.state().inheritedGoesOn);
  }
  void offerMore() {
    node.offer("device=2684", "more").allocation.serve = Serve::kDra;
    reload();
  }
};

TEST_F(BecomesOurs, I1_AGroupNumberUnderANewNameHoldsItsGroup) {
  remember("vfiogate.dev/more", "31");
  node.start();
  offerMore();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated");
}

TEST_F(BecomesOurs, I1_AnIdUnderANewNameThatStandsForNothingKeepsItFromGrowing) {
  remember("vfiogate.dev/more", "6f0c7a56-0000-4000-8000-00000000000a");
  node.start();
  EXPECT_FALSE(node.told("foreign-ids"));
  offerMore();
  EXPECT_TRUE(node.told("foreign-ids"));
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "foreign-ids");
}

TEST_F(BecomesOurs, I1_ADeviceUnderAnotherPluginsNameIsHeld) {
  rememberAnotherPlugins();
  node.start();
  offerMore();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated");
}

TEST_F(BecomesOurs, I1_SoItIsWhereTheHardwareMakesItOurs) {
  rememberAnotherPlugins();
  node.hardware.device(kA).device = std::uint16_t{0x2700};
  node.offer("device=2684", "more").allocation.serve = Serve::kDra;
  node.start();
  node.hardware.device(kA).device = std::uint16_t{0x2684};
  node.see();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated");
}

// F-E: a checkpoint that was lost may have had pods that run still.
TEST_F(BecomesOurs, I1_WhatALostCheckpointHadIsHeld) {
  rememberAnotherPlugins();
  node.start();
  node.pass(1s);
  node.newKubelet();
  node.entries.clear();
  node.move(1s);
  node.write();
  offerMore();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated");
}

// A kubelet that lost its checkpoint may well end soon, and the next one goes on from what that
// one knew. Neither had the pod in its memory: they cannot let it go.
TEST_F(BecomesOurs, I1_SoItIsWhereKubeletsAfterItRestart) {
  for (const bool reloadsFirst : {true, false}) {
    test::LedgerNode fresh = node;
    rememberAnotherPlugins();
    node.start();
    node.pass(1s);
    loseCheckpoint();
    loseCheckpoint();
    const CheckpointVersion left = node.version();
    node.move(1s);
    node.newKubelet();
    if (reloadsFirst) offerMore();
    goOn(left);
    if (!reloadsFirst) offerMore();
    EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated") << reloadsFirst;
    node.pass(2min);
    EXPECT_EQ(node.holding(kA), Holding::kForgotten) << reloadsFirst;
    node.pass(10min);
    EXPECT_EQ(node.prepare("c2", "more", {at(kA)}), "granted") << reloadsFirst;
    node = fresh;
  }
}

// As a forgotten holder without a name: or else each restart of a kubelet left more of it.
TEST_F(BecomesOurs, I10_WhatWasLostTenMinutesAgoIsForgotten) {
  rememberAnotherPlugins();
  node.start();
  node.pass(1s);
  for (int restarts = 0; restarts < 5; ++restarts) {
    loseCheckpoint();
    remember("example.com/gpu", kA);
    node.pass(6min);
    node.write();
    EXPECT_LE(node.ledger.state().lost.size(), 2U);
  }
  loseCheckpoint();
  loseCheckpoint();
  node.pass(11min);
  offerMore();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "granted");
}

// Whom a kubelet took over and let go has nothing, however long ago.
TEST_F(BecomesOurs, WhatAKubeletThatKeptItsMemoryLetGoIsFree) {
  rememberAnotherPlugins();
  node.start();
  node.pass(1s);
  const Instant asked = node.now.instant + 2s;
  const CheckpointVersion left = node.version();
  node.move(1s);
  node.newKubelet();
  node.move(1s);
  node.run(node.ledger.versionRead(left, false, node.now, asked));
  node.entries.clear();
  node.move(1s);
  node.write();
  offerMore();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "granted");
}

// Nor do those whose records ended come back.
TEST_F(BecomesOurs, WhoEndedAfterALostCheckpointIsNotFoundInItAgain) {
  node.offer("address=" + std::string(kC), "card");
  std::swap(node.settings.resources[0], node.settings.resources[2]);
  node.start();
  hold("p2", "card", {kC});
  node.pass(1s);
  node.newKubelet();
  node.entries.clear();
  node.move(1s);
  node.write();
  node.pass(15min);
  ASSERT_EQ(node.holding(kC), Holding::kFree);
  offerMore();
  EXPECT_EQ(node.holding(kC), Holding::kFree);
}

TEST_F(BecomesOurs, NorIsWhomAReloadFoundThere) {
  rememberAnotherPlugins();
  node.start();
  node.pass(1s);
  loseCheckpoint();
  loseCheckpoint();
  offerMore();
  ASSERT_EQ(node.holding(kA), Holding::kAllocated);
  node.pass(15min);
  ASSERT_EQ(node.holding(kA), Holding::kFree);
  loseCheckpoint();
  node.offer("device=2685", "further").allocation.serve = Serve::kDra;
  reload();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// F-E: what the kubelet before this one knew says nothing of who is named now.
TEST_F(BecomesOurs, I1_WhatTheKubeletBeforeRememberedIsHeldAndConfirmsNobody) {
  node.offer("address=" + std::string(kC), "card");
  std::swap(node.settings.resources[0], node.settings.resources[2]);
  rememberAnotherPlugins();
  node.start();
  hold("p2", "card", {kC});
  node.pass(1s);
  node.newKubelet();
  offerMore();
  EXPECT_EQ(node.prepare("c1", "more", {at(kA)}), "group-allocated");
  node.entries.clear();
  EXPECT_EQ(node.allocate("card", {kC}), "forgotten") << "its pod may run still";
}

TEST_F(BecomesOurs, AForeignIdIsSoughtUntilItIsGone) {
  remember("vfiogate.dev/other", "6f0c7a56-0000-4000-8000-00000000000a");
  node.start();
  ASSERT_EQ(node.prepare("c1", "other", {at(kB)}), "foreign-ids");
  node.pass(5min);
  EXPECT_EQ(node.frame("other"), "") << "without a stream nobody makes the kubelet write";
  EXPECT_FALSE(wantsPreStart(node.ledger.state(), test::resource("other")));
  node.entries.clear();
  node.pass(2min);
  EXPECT_TRUE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.frame("other"), "none");
  EXPECT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
}

// Nobody serves its name.
TEST_F(BecomesOurs, AnotherPluginsPodIsSoughtUntilItIsGone) {
  remember("example.com/gpu", kC);
  node.start();
  node.pass(5min);
  EXPECT_EQ(node.frame("gpu"), "") << "without a stream nobody makes the kubelet write";
  node.entries.clear();
  node.pass(3min);
  EXPECT_EQ(node.holding(kC), Holding::kFree);
  EXPECT_EQ(node.frame("gpu"), "none");
}

TEST_F(BecomesOurs, I1_AnIdThatStandsForNothingStaysSoWhereItsResourceIsRenamed) {
  remember("vfiogate.dev/other", "6f0c7a56-0000-4000-8000-00000000000a");
  node.start();
  ASSERT_EQ(node.prepare("c1", "other", {at(kB)}), "foreign-ids");
  node.settings.resources[1].name = test::resource("renamed");
  reload();
  EXPECT_FALSE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.prepare("c1", "renamed", {at(kB)}), "foreign-ids");
  node.startAnew();
  EXPECT_EQ(node.prepare("c1", "renamed", {at(kB)}), "foreign-ids") << "plugind restarted";
  node.entries.clear();
  node.pass(2min);
  EXPECT_TRUE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.prepare("c1", "renamed", {at(kB)}), "granted");
}

TEST_F(BecomesOurs, I1_SoItIsOfADeviceThatAReloadMoves) {
  remember("vfiogate.dev/other", "6f0c7a56-0000-4000-8000-00000000000a");
  node.start();
  node.settings.resources[1].select = *Selector::parse("address=" + std::string(kA));
  node.offer("address=" + std::string(kB), "more").allocation.serve = Serve::kDra;
  reload();
  EXPECT_EQ(node.prepare("c1", "more", {at(kB)}), "foreign-ids");
  EXPECT_EQ(node.prepare("c1", "other", {at(kA)}), "foreign-ids");
  EXPECT_EQ(node.prepare("c2", "gpu", {at(kC)}), "granted");
}

}  // namespace
}  // namespace vfiogate
