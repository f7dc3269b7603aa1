// Ids of other plugins under our resources' names.

#include <gmock/gmock.h>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/ledger_view.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;
using testing::HasSubstr;

// I1: KubeVirt's own plugin names a device by its IOMMU group, and its machine is closed.
TEST_F(LedgerCase, I1_AGroupNumberHoldsItsGroup) {
  node.record("p1", "gpu", {"31"});
  node.registered["vfiogate.dev/gpu"] = {"31", "32"};
  node.start();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("gpu", {kA}), "group-allocated");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "the scheduler counts its pod";
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted") << "the other card is free";
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// I1: what an id stands for cannot be told, so nothing of the resource is free for sure.
TEST_F(LedgerCase, I1_AnIdThatStandsForNothingKeepsTheResourceFromGrowing) {
  node.start();
  hold("p1", "gpu", {kA});
  node.record("p2", "gpu", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.write();
  EXPECT_TRUE(node.told("foreign-ids"));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-") << "what is held stays Healthy";
  const CallId call = node.ask("gpu", {kC});
  EXPECT_EQ(node.outcome(call), "foreign-ids");
  EXPECT_THAT(node.text(call), HasSubstr("the kubelet has \"6f0c7a56-0000-4000-8000-00000000000a\" "
                                         "allocated as vfiogate.dev/gpu"));
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "foreign-ids");
  EXPECT_EQ(explain(node.settings, node.ledger.state(), at(kC)).reason, "foreign-ids");
  node.forget("p2");
  node.write();
  EXPECT_TRUE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// The sibling of what may be held is in another resource.
TEST_F(LedgerCase, I1_WhatMayBeHeldIsNotGivenOutThroughAnotherResource) {
  node.record("p2", "gpu", {"99"});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  EXPECT_EQ(node.allocate("other", {kB}), "foreign-ids");
}

// A plugin before us gave one pod the card and its audio function, each under its own resource.
TEST_F(LedgerCase, OnePodWithTwoResourcesOfAGroupIsNoDispute) {
  node.record("p1", "gpu", {kA});
  node.record("p1", "other", {kB});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  EXPECT_FALSE(node.told("disputed"));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.record("p2", "other", {kB});
  node.write();
  EXPECT_TRUE(node.told("disputed")) << "another pod is another party";
  node.forget("p1");
  node.forget("p2");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// A List has no UIDs: a pod is its namespace and name, until a version tells.
TEST_F(LedgerCase, OnePodWithTwoResourcesOfAGroupIsNoDisputeWhereOnlyAListNamesIt) {
  node.readable = false;
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}},
                {"ns", "vm", "main", "vfiogate.dev/other", {kB}}},
               {"ns/vm"}};
  node.start(false);
  EXPECT_FALSE(node.told("disputed"));
  EXPECT_FALSE(viewOf(node.ledger.state(), {at(kA), at(kB)}, {0, 1}).disputed);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  node.list.devices.push_back({"ns", "other", "main", "vfiogate.dev/other", {kB}});
  node.run(node.ledger.listRead(node.list, node.now.instant, node.now));
  EXPECT_TRUE(node.told("disputed")) << "another pod is another party";
}

TEST_F(LedgerCase, NorIsItWhenItsGroupGetsAnotherNumber) {
  node.record("p1", "gpu", {kA});
  node.record("p1", "other", {kB});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  node.hardware.regroup(kA, 40);
  node.hardware.regroup(kB, 40);
  node.see();
  EXPECT_TRUE(node.told("regrouped"));
  EXPECT_FALSE(node.told("disputed"));
}

TEST_F(LedgerCase, IdsUnderOtherPluginsResourcesSayNothing) {
  node.entries.push_back({"p2", "main", "example.com/gpu", {"31"}, std::nullopt, std::nullopt});
  node.entries.push_back({"p3", "main", "example.com/nic", {"eth0"}, std::nullopt, std::nullopt});
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
  EXPECT_FALSE(node.told("foreign-ids"));
}

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

// The gate serves no name that its prefixes do not cover, and so there is no stream.
TEST_F(LedgerCase, AnEntryOfAnotherPluginKeepsNoNodeOfClaimsFromAdoption) {
  for (ResourceSettings& entry : node.settings.resources) entry.allocation.serve = Serve::kDra;
  node.streams = false;
  node.registered = {{"example.com/gpu", {kC}}};
  node.entries.push_back({"p1", "main", "example.com/gpu", {kC}, std::nullopt, std::nullopt});
  node.start(false);
  node.pass(31s);
  EXPECT_TRUE(node.ledger.adopted());
  EXPECT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
  EXPECT_EQ(node.prepare("c2", "gpu", {at(kC)}), "group-allocated");
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

TEST_F(LedgerCase, WhereAResourceIsServedToThePluginNoOtherIs) {
  node.settings.resources[1].allocation.serve = Serve::kDra;
  node.record("p1", "other", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.start();
  node.pass(1min);
  ASSERT_EQ(node.prepare("c1", "other", {at(kB)}), "foreign-ids");
  EXPECT_EQ(node.frame("other"), "none");
  node.forget("p1");
  node.pass(2min);
  EXPECT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
}

TEST_F(LedgerCase, I1_WhoHasAnotherMemberOfAGroupHasTheGroup) {
  node.settings.resources.pop_back();  // nothing of ours selects b
  node.entries.push_back({"p1", "main", "example.com/audio", {kB}, std::nullopt, std::nullopt});
  node.registered["vfiogate.dev/gpu"] = {kA, kC};
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  EXPECT_EQ(node.allocate("gpu", {kA}), "group-allocated");
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
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
