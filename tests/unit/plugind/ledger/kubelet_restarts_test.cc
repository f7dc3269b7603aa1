// The named tests of ledger.md 17 about restarts of the kubelet and of plugind.

#include <gmock/gmock.h>

#include <algorithm>

#include "plugind/core/ledger/state/fingerprint.h"
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

// 6, I4.
TEST_F(LedgerCase, KubeletRestartRunning) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.newKubelet();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+")) << "registered as the ledger stands";
  node.list = {};
  node.pass(5min);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
}

// 7, I1.
TEST_F(LedgerCase, KubeletRestartIdle) {
  node.start();
  hold("p1", "gpu", {kA});
  node.newKubelet();
  node.pass(30s);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
}

// 9, I1.
TEST_F(LedgerCase, PlugindDiesAfterReply) {
  node.start(false);
  ASSERT_TRUE(node.ledger.begun());
  ASSERT_FALSE(node.ledger.adopted());
  node.record("p1", "gpu", {kA});
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated")
      << "found by the reconcile in the call";
  EXPECT_EQ(node.reconciled, 1);
  EXPECT_TRUE(node.ledger.adopted());
}

// 10, I1.
TEST_F(LedgerCase, PlugindDiesBeforeStart) {
  node.record("p1", "gpu", {kA});
  node.see();
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.start();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
}

// 32: live.
TEST_F(LedgerCase, AdoptIdleNode) {
  node.start(false);
  node.pass(5s);
  const CallId prepare = node.askPrepare("c1", "gpu", {at(kC)});
  EXPECT_EQ(node.outcome(prepare), "waits");
  EXPECT_FALSE(node.ledger.adopted());
  node.pass(26s);
  EXPECT_TRUE(node.ledger.adopted());
  EXPECT_EQ(node.outcome(prepare), "granted");
}

// A node on which no resource of the configuration has a device shows no frame: nothing is to be
// looked for, and a device that is plugged in later is allocated at once.
TEST_F(LedgerCase, ANodeWithoutADeviceOfTheConfigurationIsAdoptedAtOnce) {
  for (const bool configured : {true, false}) {
    test::LedgerNode one;
    one.hardware.add("0000:03:00.0", 33).device = std::uint16_t{0x1533};
    if (configured) one.offer("device=2684", "gpu");
    one.streams = one.readable = false;
    one.noCheckpoint = true;
    one.start(false);
    EXPECT_TRUE(one.ledger.adopted()) << configured;
    EXPECT_EQ(one.frame("gpu"), "none");
    if (!configured) continue;
    one.streams = one.readable = true;
    one.hardware.add(kA, 31);
    one.see();
    EXPECT_EQ(one.allocate("gpu", {kA}), "granted");
  }
}

TEST_F(LedgerCase, WhatAnotherPluginServedHereIsWaitedFor) {
  node.settings.resources.clear();
  node.streams = false;
  node.registered = {{"example.com/gpu", {kA}}};
  node.start(false);
  EXPECT_FALSE(node.ledger.adopted());
  node.pass(31s);
  EXPECT_TRUE(node.ledger.adopted());
}

// Row 17: an answer that nobody has named is found open.
TEST_F(LedgerCase, WhatIsOfferedAgainAndFoundOpenLingers) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  setUse(31, GroupUse::kOpen);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(node.allocate("gpu", {kA}), "still-open");
    EXPECT_EQ(node.holding(kA), Holding::kLingering);
  }
}

// The kubelet wrote it this moment, and this process was not told yet.
TEST_F(LedgerCase, APreStartWaitsForTheVersionWithItsNodes) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  ASSERT_EQ(node.outcome(call), "granted");
  node.startAnew();
  node.record("p1", "gpu", {kA});
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes") << "nobody knows";
  node.entries.back().allocated =
      node.answers.at(call).response->annotations.at(kAllocatedAnnotation);
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
}

// The clock was ahead as the kubelet made its socket: what it writes seems to be of the one before.
TEST_F(LedgerCase, I1_AClockThatIsSetBackReleasesNobody) {
  node.start();
  hold("p1", "gpu", {kA});
  node.now.wall -= 1h;
  node.forget("p1");
  hold("p2", "gpu", {kC});
  node.pass(30min);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.holding(kC), Holding::kAnswered);
  node.pass(31min);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.holding(kC), Holding::kAllocated);
}

// Section 6: neither List nor checkpoint, or no privd: nothing is registered.
TEST_F(LedgerCase, NothingIsShownBeforeAnythingIsKnown) {
  node.see();
  node.run(node.ledger.begin({std::nullopt, std::nullopt, {}}, node.now));
  EXPECT_FALSE(node.ledger.begun());
  EXPECT_EQ(node.frame("gpu"), "none");
  node.run(node.ledger.begin({std::nullopt, node.list, {}}, node.now));
  EXPECT_TRUE(node.ledger.begun());
}

TEST_F(LedgerCase, AnOpenGroupWithoutAHolderIsForeignFromTheStart) {
  node.use(31, GroupUse::kOpen);
  node.registered["vfiogate.dev/gpu"] = {kA};
  node.start();
  EXPECT_EQ(node.holding(kA), Holding::kForeign);
  EXPECT_EQ(node.allocate("gpu", {kA}), "foreign");
  setUse(31, GroupUse::kIdle);
  node.pass(7s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, AnUnreadableCheckpointKeepsTheLedgerFromBeingAdopted) {
  node.readable = false;
  node.start();
  EXPECT_FALSE(node.ledger.adopted());
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-adopted");
  node.readable = true;
  node.pass(70s);
  EXPECT_TRUE(node.ledger.adopted());
}

// The checkpoint is as the former kubelet left it: the new one remembers, and its offer is its
// word.
TEST_F(LedgerCase, AKubeletThatBeganWithItsCheckpointIsBelieved) {
  node.start();
  hold("p1", "gpu", {kA});
  const CheckpointVersion left = node.version();
  node.pass(2s);
  node.newKubelet();
  node.forget("p1");
  node.run(node.ledger.versionRead(left, false, node.now, node.now.instant - 1s));
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten") << "it may have been read before";
  node.run(node.ledger.versionRead(left, false, node.now, node.now.instant));
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
}

// The kubelet took its word back: whoever had the device before has it still, until released.
TEST_F(LedgerCase, AGrantThatTheKubeletNeverRecordsErasesNothing) {
  node.start();
  hold("p1", "gpu", {kA});
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");  // the kubelet let p1 go, so it says
  ASSERT_EQ(node.ledger.state().records.size(), 1U);
  EXPECT_EQ(node.ledger.state().records[0].before.size(), 1U);
  node.entries.clear();
  node.pass(34s);
  EXPECT_TRUE(node.told("remembered"));
  ASSERT_EQ(node.ledger.state().records.size(), 1U);
  EXPECT_EQ(node.ledger.state().records[0].podUid, "p1");
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.pass(20s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, TheJournalSaysThatThePodBeforeLetGo) {
  node.start();
  hold("p1", "gpu", {kA});
  node.forget("p1");
  hold("p2", "gpu", {kA});
  const auto released = std::ranges::find(node.journal, "released", &JournalEvent::event);
  ASSERT_NE(released, node.journal.end());
  EXPECT_EQ(released->podUid, "p1");
  EXPECT_EQ(node.ledger.state().records.at(0).podUid, "p2");
}

// A file's time may be earlier than that of the answer that it records: the kernel stamps files by
// a clock that lags. The reference in the recorded answer tells.
TEST_F(LedgerCase, AVersionWithTheGrantsReferenceIsNoOlderThanTheGrant) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  const auto& response = *node.answers.at(CallId(node.lastCall)).response;
  EXPECT_EQ(response.annotations.at(kRefAnnotation), "7f3a");
  node.entries.push_back({"p1",
                          "main",
                          "vfiogate.dev/gpu",
                          {kA},
                          std::nullopt,
                          response.annotations.at(kRefAnnotation)});
  CheckpointVersion version = node.version();
  version.written -= 3ms;
  node.run(node.ledger.versionRead(version, false, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.ledger.state().records.at(0).podUid, "p1");
}

// PreStart names nobody: what the kubelet's memory says later is told when it is known.
TEST_F(LedgerCase, TheJournalSaysWhichPodItWas) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  EXPECT_FALSE(node.told("identified"));
  node.pass(10ms);
  node.record("p1", "gpu", {kA});
  node.write();
  const auto told = std::ranges::find(node.journal, "identified", &JournalEvent::event);
  ASSERT_NE(told, node.journal.end());
  EXPECT_EQ(told->podUid, "p1");
}

TEST_F(LedgerCase, TheJournalSaysWhyNoPodIsKnown) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.pass(60s);
  ASSERT_EQ(node.holding(kA), Holding::kFree);
  const auto released = std::ranges::find(node.journal, "released", &JournalEvent::event);
  ASSERT_NE(released, node.journal.end());
  EXPECT_THAT(released->text, HasSubstr("pod unknown"));
}

// Row 22: another pod's name for the same device is a dispute, and nobody is granted anything.
TEST_F(LedgerCase, TwoPodsForOneGroupAreADispute) {
  node.start();
  hold("p1", "gpu", {kA});
  node.record("p2", "other", {kB});
  node.write();
  EXPECT_TRUE(node.told("disputed"));
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(call), "disputed");
  EXPECT_THAT(node.text(call), HasSubstr("ref=7f3a, ref=7f3b"));
  node.forget("p2");
  node.pass(75s);
  EXPECT_EQ(node.ledger.state().records.size(), 1U) << "one ends, the group stays allocated";
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
}

// A refusal's text ends in the status of somebody else's pod.
TEST_F(LedgerCase, ARefusalNamesAnotherPodOnlyInFull) {
  node.start();
  node.list = {{{"secret", "p1", "main", "vfiogate.dev/gpu", {kA}}}, {"secret/p1"}};
  hold("uid-p1", "gpu", {kA});
  node.pass(20s);
  ASSERT_EQ(node.ledger.state().records[0].podName, "secret/p1");
  const std::string text = node.text(node.ask("other", {kB}));
  EXPECT_THAT(text, HasSubstr("group-allocated, ref=7f3a"));
  EXPECT_THAT(text, testing::Not(HasSubstr("p1")));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
}

TEST(RefusalDetail, InFullNamesTheHolder) {
  test::LedgerNode node({.refusalDetail = RefusalDetail::kFull});
  node.hardware.add(kA, 31);
  node.hardware.add(kB, 31).device = std::uint16_t{0x2685};
  node.offer("device=2684", "gpu");
  node.offer("device=2685", "other");
  node.record("uid-p1", "gpu", {kA});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  EXPECT_THAT(node.text(node.ask("other", {kB})), HasSubstr("pod unknown (uid-p1)"));
}

}  // namespace
}  // namespace vfiogate
