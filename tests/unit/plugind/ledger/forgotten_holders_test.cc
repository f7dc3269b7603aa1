// The named tests of ledger.md 17 about holders that a kubelet no longer knows, since its
// checkpoint is lost.

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;
using testing::HasSubstr;

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
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten");
  EXPECT_EQ(node.holding(kA), Holding::kForgotten);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "its pod still counts";
}

// 12, I1: an offer of a kubelet that lost its memory says nothing of the pod that it forgot.
TEST_F(LedgerCase, CheckpointLostIdle) {
  node.start();
  hold("p1", "gpu", {kA});
  node.entries.clear();
  node.newKubelet();
  node.pass(30s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(call), "forgotten");
  EXPECT_THAT(node.text(call), HasSubstr("forgotten by the kubelet: its pod may run still"));
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  EXPECT_EQ(node.ledger.state().records.at(0).podUid, "p1") << "the refused one takes nothing";
}

// 33, I5.
TEST_F(LedgerCase, ForgottenNotYet) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.entries.clear();
  node.newKubelet();
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten");
  EXPECT_EQ(node.holding(kA), Holding::kAllocated) << "not lingering, and not yet forgotten";
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
}

// Section 4: a forgotten one is let go by its pod's absence from two Lists, 30 s apart.
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
  node.pass(25s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  node.pass(30s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// A List is made when it first counts. An interval later would be up to 20 s too late: the Lists go
// on in the former kubelet's rhythm, and one that comes a moment early does not count.
TEST_F(LedgerCase, AForgottenHolderIsFreeAsSoonAsTwoListsCanTell) {
  node.start();
  hold("p1", "gpu", {kA});
  node.list = {{{"ns", "p1", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/p1"}};
  node.pass(73s);
  node.entries.clear();
  node.list = {{}, {"ns/p1"}};
  node.newKubelet();
  node.pass(timing::kListSettles - 5s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  node.list = {};
  node.pass(5s + timing::kLetGoGap - 1s);
  EXPECT_EQ(node.holding(kA), Holding::kForgotten);
  node.pass(1s + timing::kReadingGap);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// A successor of the same name asks again and again, as a StatefulSet's does: List has it while it
// asks, and has no UID. It gets the device within 60 s of the former's end.
TEST_F(LedgerCase, ASuccessorOfTheSameNameGetsTheDeviceOfAForgottenHolder) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.list = {{{"ns", "web-0", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/web-0"}};
  node.pass(20s);
  node.entries.clear();
  node.list = {{}, {"ns/web-0"}};
  node.newKubelet();
  node.pass(90s);
  ASSERT_EQ(node.holding(kA), Holding::kForgotten);
  node.list = {};  // the former ended
  std::string outcome;
  int seconds = 0;
  for (; seconds < 60 && outcome != "granted"; seconds += 2) {
    node.list = {{}, {"ns/web-0"}};  // the successor is being admitted
    outcome = node.allocate("gpu", {kA});
    node.list = {};  // and was rejected
    if (outcome != "granted") node.pass(2s);
  }
  EXPECT_EQ(outcome, "granted") << seconds << " s after the end";
}

// Where the successor got other devices, the checkpoint has its UID.
TEST_F(LedgerCase, APodOfTheSameNameWithAnotherUidIsAnotherPod) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.list = {{{"ns", "web-0", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/web-0"}};
  node.pass(20s);
  node.entries.clear();
  node.newKubelet();
  node.entries.push_back(
      {"uid-2", "main", "example.com/nic", {"eth0"}, std::nullopt, std::nullopt});
  node.list = {{{"ns", "web-0", "main", "example.com/nic", {"eth0"}}}, {"ns/web-0"}};
  node.write();
  node.pass(30s);
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

// 5.6: whoever ended is known at the next reconcile, so that the next pod does not meet this wall.
TEST_F(LedgerCase, ARefusalForOtherHardwareMakesAReconcile) {
  node.start();
  hold("p1", "gpu", {kA});
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/vm"}};
  node.pass(31s);
  node.hardware.device(kA).device = std::uint16_t{0x2704};
  node.see();
  node.forget("p1");
  node.list = {};
  const int before = node.reconciled;
  ASSERT_EQ(node.allocate("gpu", {kA}), "other-hardware");
  EXPECT_EQ(node.reconciled, before + 1);
  node.pass(20s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, SoDoesOneOfWhatIsExcludedSince) {
  node.start();
  hold("p1", "gpu", {kA});
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/vm"}};
  node.pass(31s);
  node.facts.excluded.insert(IommuGroupId(31));
  node.run(node.ledger.hardwareSeen(
      node.facts, sortIntoResources(node.settings, node.facts.snapshot), node.now));
  node.forget("p1");
  node.list = {};
  const int before = node.reconciled;
  ASSERT_EQ(node.allocate("gpu", {kA}), "not-viable:operator-excluded");
  EXPECT_EQ(node.reconciled, before + 1);
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-viable:operator-excluded");
}

// Another plugin's pod is in the last version of a kubelet alone, which is read when the next one,
// without that memory, is there already.
TEST_F(LedgerCase, I1_WhoIsOnlyInALastVersionThatIsReadLateIsHeld) {
  node.start();
  node.move(1s);
  CheckpointVersion left = node.version();
  left.entries.push_back({"p1", "main", "example.com/gpu", {kC}, std::nullopt, std::nullopt});
  left.entries.push_back({"p2", "main", "vfiogate.dev/other", {"99"}, std::nullopt, std::nullopt});
  node.move(1s);
  node.newKubelet();
  node.run(node.ledger.versionRead(left, false, node.now, node.now.instant));
  node.move(1s);
  node.write();
  EXPECT_EQ(node.allocate("gpu", {kC}), "group-allocated");
  EXPECT_EQ(node.allocate("other", {kB}), "foreign-ids");
  node.pass(12min);
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
  EXPECT_EQ(node.allocate("other", {kB}), "granted");
}

/// p2 has an id under gpu that stands for nothing.
class ForeignIdsForgotten : public LedgerCase {
protected:
  ForeignIdsForgotten() { node.record("p2", "gpu", {"6f0c7a56-0000-4000-8000-00000000000a"}); }
  void newKubelet(bool losesCheckpoint) {
    const CheckpointVersion left = node.version();
    node.move(1s);
    node.newKubelet();
    node.move(1s);
    if (!losesCheckpoint)
      node.run(node.ledger.versionRead(left, false, node.now, node.now.instant));
    node.entries.clear();
    node.write();
  }
};

// F-E: its pod runs still.
TEST_F(ForeignIdsForgotten, I1_AForeignIdOutlivesALostCheckpoint) {
  node.start();
  node.write();
  newKubelet(true);
  EXPECT_FALSE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
  node.pass(9min);
  const CallId call = node.ask("gpu", {kC});
  EXPECT_EQ(node.outcome(call), "foreign-ids");
  EXPECT_THAT(node.text(call), HasSubstr("a kubelet before this one had \"6f0c7a56"));
  node.pass(2min);
  EXPECT_TRUE(node.told("foreign-ids-gone")) << "as a forgotten holder without a name";
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// plugind was away meanwhile: it begins with what the former kubelet left.
TEST_F(ForeignIdsForgotten, I1_SoItIsOfWhatAFormerKubeletLeftForTheStart) {
  node.see();
  node.kubelet.changed += 1s;
  node.run(node.ledger.kubeletSeen(node.kubelet, node.now));
  node.run(
      node.ledger.begin({node.version(), node.list, node.specs, false, node.recorded}, node.now));
  node.entries.clear();
  node.move(2s);
  node.write();
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
}

// No kubelet since had it in its memory.
TEST_F(ForeignIdsForgotten, I1_SoItIsWhereTheNextKubeletGoesOnFromLess) {
  node.start();
  node.write();
  newKubelet(true);
  newKubelet(false);
  ASSERT_TRUE(node.ledger.state().inheritedGoesOn);
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
  node.pass(11min);
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

TEST_F(ForeignIdsForgotten, OneThatAKubeletTookOverAndLetGoIsGone) {
  node.start();
  node.write();
  newKubelet(false);
  EXPECT_TRUE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// What a kubelet before wrote seems to be younger than the socket of this one.
TEST_F(ForeignIdsForgotten, I1_SoItIsWhereTheClockWasSetBack) {
  node.start();
  node.write();
  node.move(1s);
  node.now.wall -= 1h;
  node.newKubelet();
  for (int i = 0; i < 2; ++i) {
    node.run(node.ledger.reconfigured({}, sortIntoResources(node.settings, node.facts.snapshot),
                                      node.facts.specs, node.now));
  }
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
  node.entries.clear();
  node.move(1s);
  node.write();
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
  node.pass(11min);
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// F-C: one version overtook the other.
TEST_F(ForeignIdsForgotten, I1_AnOlderVersionLiftsNothing) {
  node.start();
  CheckpointVersion older = node.version();
  older.entries.clear();
  node.move(1s);
  node.write();
  node.run(node.ledger.versionRead(older, false, node.now));
  EXPECT_EQ(node.allocate("gpu", {kC}), "foreign-ids");
}

}  // namespace
}  // namespace vfiogate
