// The named tests of ledger.md 17 about one kubelet, its pods and their deletion.

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

// 1, I1 and order.
TEST_F(LedgerCase, SiblingRace) {
  node.start();
  ASSERT_EQ(node.frame("other"), "0000:01:00.1+");
  node.answersQuestions = false;
  const CallId first = node.ask("gpu", {kA});
  ASSERT_EQ(node.last.frames.at(test::resource("other")).devices[0].healthy, false)
      << "the sibling is withdrawn before the reply";
  ASSERT_EQ(node.outcome(first), "waits");
  EXPECT_EQ(node.allocate("other", {kB}), "being-allocated");
  node.run(node.ledger.groupRead(IommuGroupId(31), node.reread(IommuGroupId(31)), first, node.now));
  EXPECT_EQ(node.outcome(first), "granted");
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
}

TEST_F(LedgerCase, SiblingRaceBesideAnotherCall) {
  node.start();
  node.answersQuestions = false;
  const CallId beside = node.ask("gpu", {kC});
  ASSERT_EQ(node.outcome(beside), "waits");
  const CallId first = node.ask("gpu", {kA});
  EXPECT_EQ(node.last.frames.at(test::resource("other")).devices[0].healthy, false)
      << "the sibling is withdrawn before the reply";
  EXPECT_EQ(node.allocate("other", {kB}), "being-allocated");
  EXPECT_EQ(node.outcome(first), "waits");
  EXPECT_EQ(node.outcome(beside), "waits");
}

TEST_F(LedgerCase, APodOfTwoGroupsStartsBeforeTheCheckpointNamesIt) {
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kC, kA}), "granted");
  EXPECT_EQ(node.preStart("gpu", {kA, kC}), "done");
}

TEST_F(LedgerCase, APodOfTwoGroupsDoesNotStartWithOtherNumbersThanItWasGiven) {
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kA, kC}), "granted");
  node.hardware.regroup(kC, 77);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA, kC}), "stale-nodes");
}

// 2, I1.
TEST_F(LedgerCase, ForceDeleteRunning) {
  node.start();
  hold("p1", "gpu", {kA});
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  setUse(31, GroupUse::kOpen);
  node.pass(60s);
  node.forget("p1");
  EXPECT_EQ(node.allocate("gpu", {kA}), "still-open");
  EXPECT_EQ(node.holding(kA), Holding::kLingering);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0-"));
  setUse(31, GroupUse::kIdle);
  node.pass(10s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// 3, I1: the window of section 15, bounded.
TEST_F(LedgerCase, ForceDeleteBeforeStart) {
  node.start();
  hold("p1", "gpu", {kA});
  node.forget("p1");
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
  node.record("p2", "gpu", {kA});
  node.write();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.pass(9s);
  EXPECT_EQ(node.allocate("gpu", {kA}), "starting");
  node.pass(2s);
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
}

// 4, I1.
TEST_F(LedgerCase, InitThenApp) {
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
  EXPECT_EQ(node.allocate("gpu", {kA, kC}), "granted");
  EXPECT_EQ(node.ledger.state().records.size(), 2U) << "one per group";
  EXPECT_TRUE(node.told("allocated-again"));
}

// 5, I4.
TEST_F(LedgerCase, InitOnly) {
  node.start();
  hold("p1", "gpu", {kA});
  node.pass(5min);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_GT(node.reconciled, 3) << "looked for every 60 s";
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// 5: a pod that ends before List shows it is known to be gone by the next version alone, which may
// have the file time of the one that named it.
TEST_F(LedgerCase, SilenceWithinOneTickOfFileTimesIsAReasonToReconcile) {
  node.start();
  hold("p1", "gpu", {kA});
  node.write();
  node.forget("p1");
  node.run(node.ledger.versionRead(node.version(), false, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated) << "proves nothing";
  node.pass(30s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// The kubelet lists a pod's devices a moment after its checkpoint names them.
TEST_F(LedgerCase, WhoseDeviceItIsIsKnownAsSoonAsThePodIsListed) {
  node.start();
  hold("p1", "gpu", {kA});
  node.pass(450ms);
  ASSERT_FALSE(node.ledger.state().records.front().podName);
  node.list.pods.insert("ns/vm");
  node.list.devices.push_back({"ns", "vm", "main", test::resource("gpu").str(), {kA}});
  node.pass(250ms);
  EXPECT_EQ(node.ledger.state().records.front().podName, "ns/vm");
}

// 8, I1.
TEST_F(LedgerCase, KubeletDiesInAllocate) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.newKubelet();
  hold("p1", "gpu", {kC});
  node.pass(20s);
  EXPECT_EQ(node.holding(kA), Holding::kAnswered) << "the reply may wait in the kubelet";
  node.pass(25s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, KubeletDiesInAllocateAndOffersSooner) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.newKubelet();
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
}

// 27, I1.
TEST_F(LedgerCase, TwoResourcesOneGroup) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  const CallId second = node.ask("other", {kB});
  EXPECT_EQ(node.outcome(second), "group-allocated");
  EXPECT_THAT(node.text(second),
              HasSubstr("0000:01:00.1, group 31: allocated since 2024-10-04T10:"));
  EXPECT_THAT(node.text(second), HasSubstr("group-allocated, ref=7f3a"));
}

// 28, I1.
TEST_F(LedgerCase, MdevForceDelete) {
  node.start();
  setUse(31, GroupUse::kBlind);
  hold("p1", "gpu", {kA});
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  node.pass(60s);
  node.forget("p1");
  EXPECT_EQ(node.allocate("gpu", {kA}), "cannot-probe") << "no probe";
  node.probe = GroupReading::Probe::kOpen;
  EXPECT_EQ(node.allocate("gpu", {kA}), "still-open") << "the probe says open";
  node.probe = GroupReading::Probe::kNone;
  node.see();
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.told("unconfirmed"));
}

// 30, I1.
TEST_F(LedgerCase, ForceDeleteSplit) {
  showAll();
  node.start();
  hold("p1", "gpu", {kA, kB});
  node.forget("p1");
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.record("p2", "gpu", {kA});
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.1+")) << "in rest";
  EXPECT_EQ(node.allocate("gpu", {kB}), "group-allocated");
  node.pass(12s);
  EXPECT_EQ(node.allocate("gpu", {kB}), "group-allocated");
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.1-")) << "two versions do not know it";
}

// 31, I1 and I4.
TEST_F(LedgerCase, InitSplit) {
  showAll();
  node.start();
  hold("p1", "gpu", {kA, kB});
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.move(100ms);
  node.record("p1", "gpu", {kA});
  EXPECT_EQ(node.allocate("gpu", {kB}), "granted");
  EXPECT_EQ(node.ledger.state().records.size(), 1U);
}

// Row 25: absence needs two versions, a second apart, of this epoch (F-C).
TEST_F(LedgerCase, AReleaseNeedsTwoVersions) {
  node.start();
  hold("p1", "gpu", {kA});
  node.pass(10s);
  node.reconciles = false;
  node.forget("p1");
  node.pass(65s);
  node.run(node.ledger.listRead({}, node.now.instant, node.now));
  node.run(node.ledger.versionRead(node.version(), true, node.now));
  node.move(500ms);
  node.run(node.ledger.versionRead(node.version(), true, node.now));
  node.run(node.ledger.reconcileEnded(true, node.now));
  node.move(2s);
  node.run(node.ledger.tick(node.now));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated) << "half a second apart";
  node.reconciles = true;
  node.doReconcile();
  node.pass(15s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// I4: absence from List proves nothing, ever (F-A).
TEST_F(LedgerCase, AbsenceFromListReleasesNothing) {
  node.start();
  node.list = {{{"ns", "p1", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/p1"}};
  hold("p1", "gpu", {kA});
  node.pass(20s);  // not long enough for a reconcile to be due for another reason
  node.list = {};
  node.pass(10min);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
}

}  // namespace
}  // namespace vfiogate
