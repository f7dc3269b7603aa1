// The named tests of ledger.md 17 about restarts of the kubelet and of plugind, and lost memory.

#include <gmock/gmock.h>

#include "plugind/core/ledger/fingerprint.h"
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
  EXPECT_EQ(node.holding(kA), Holding::kLent);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
}

// 7, I1.
TEST_F(LedgerCase, KubeletRestartIdle) {
  node.start();
  hold("p1", "gpu", {kA});
  node.newKubelet();
  node.pass(30s);
  EXPECT_EQ(node.holding(kA), Holding::kLent);
  EXPECT_EQ(node.allocate("other", {kB}), "group-lent");
}

// 9, I1.
TEST_F(LedgerCase, PlugindDiesAfterReply) {
  node.start(false);
  ASSERT_TRUE(node.ledger.begun());
  ASSERT_FALSE(node.ledger.adopted());
  node.record("p1", "gpu", {kA});
  EXPECT_EQ(node.allocate("other", {kB}), "group-lent") << "found by the look in the call";
  EXPECT_EQ(node.looked, 1);
  EXPECT_TRUE(node.ledger.adopted());
}

// 10, I1.
TEST_F(LedgerCase, PlugindDiesBeforeStart) {
  node.record("p1", "gpu", {kA});
  node.see();
  node.entries[0].lent = fingerprintOf(node.facts, {at(kA)});
  node.start();
  EXPECT_EQ(node.holding(kA), Holding::kLent);
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
}

// 11, I1 and I5.
TEST_F(LedgerCase, CheckpointLostRunning) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.entries.clear();
  node.newKubelet();
  node.pass(30s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  EXPECT_TRUE(node.told("kubelet-forgot"));
  EXPECT_EQ(node.allocate("gpu", {kA}), "still-open");
  EXPECT_EQ(node.holding(kA), Holding::kForgotten);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "its pod still counts";
}

// 12, I1.
TEST_F(LedgerCase, CheckpointLostIdle) {
  node.start();
  hold("p1", "gpu", {kA});
  node.entries.clear();
  node.newKubelet();
  node.pass(30s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
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

// 33, I5.
TEST_F(LedgerCase, ForgottenNotYet) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.entries.clear();
  node.newKubelet();
  EXPECT_EQ(node.allocate("gpu", {kA}), "still-open");
  EXPECT_EQ(node.holding(kA), Holding::kForgotten) << "not lingering";
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
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

// Section 4: a forgotten one is let go by its pod's absence from two Lists, 60 s apart.
TEST_F(LedgerCase, AForgottenHolderEndsWithItsPod) {
  node.start();
  hold("p1", "gpu", {kA});
  node.list = {{{"ns", "p1", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/p1"}};
  node.pass(70s);
  node.entries.clear();
  node.list = {{}, {"ns/p1"}};
  node.newKubelet();
  node.pass(5min);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten) << "listed without devices";
  node.list = {};
  node.pass(50s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  node.pass(40s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, AForgottenHolderWithoutANameEndsAfterTenMinutes) {
  node.start();
  hold("p1", "gpu", {kA});
  node.entries.clear();
  node.newKubelet();
  node.pass(9min);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  node.pass(2min);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
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
  EXPECT_EQ(node.ledger.state().records.size(), 1U) << "one ends, the group stays lent";
  EXPECT_EQ(node.holding(kA), Holding::kLent);
}

// A refusal's text ends in the status of somebody else's pod.
TEST_F(LedgerCase, ARefusalNamesAnotherPodOnlyInFull) {
  node.start();
  node.list = {{{"secret", "p1", "main", "vfiogate.dev/gpu", {kA}}}, {"secret/p1"}};
  hold("uid-p1", "gpu", {kA});
  node.pass(20s);
  ASSERT_EQ(node.ledger.state().records[0].podName, "secret/p1");
  const std::string text = node.text(node.ask("other", {kB}));
  EXPECT_THAT(text, HasSubstr("group-lent, ref=7f3a"));
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
