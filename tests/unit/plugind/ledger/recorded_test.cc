// privd's record of allocations at the start of plugind: the third source of evidence, beside
// checkpoint and List.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class RecordedTest : public test::LedgerCase {
protected:
  /// The node as it was made, with another ledger and nothing in the kubelet's memory.
  void makeAnew() {
    node.ledger = Ledger(LedgerSettings{});
    node.entries.clear();
    node.registered.clear();
  }

  /// The plugind after this one, which begins with what this one had privd record.
  void restart() {
    node.registered = {{"vfiogate.dev/other", {kB}}};  // as the kubelet was shown them
    node.journal.clear();
    node.startAnew(complete);
  }

  bool complete = true;
};

// I1: the checkpoint is lost, the kubelet restarted, plugind killed; the device is closed.
TEST_F(RecordedTest, I1_AGroupIsNotFreeBecauseEverybodyForgotIt) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/vm"}};
  node.pass(20s);
  node.entries.clear();
  node.list = {{}, {"ns/vm"}};  // it runs, and has no devices as far as the kubelet knows
  node.newKubelet();
  restart();
  EXPECT_TRUE(node.told("restored"));
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten");
  node.pass(10min);
  EXPECT_EQ(node.holding(kA), Holding::kForgotten) << "List names its pod";
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten");
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+")) << "its pod still counts";
  node.list = {};
  node.pass(60s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.allocate("other", {kB}), "granted");
}

// I1: answered, not yet recorded by the kubelet, and plugind dies.
TEST_F(RecordedTest, I1_AnAnswerThatNobodyRecordedYetIsKnown) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  restart();
  EXPECT_TRUE(node.ledger.adopted()) << "nothing else can be under way";
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.pass(100ms);
  node.record("uid-1", "gpu", {kA});
  node.write();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
}

TEST_F(RecordedTest, AnAnswerThatTheKubeletNeverRecordsEnds) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  restart();
  node.pass(50s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.ledger.state().told.empty());
}

// What the kubelet remembers stands; the record says since when and under which reference.
TEST_F(RecordedTest, ReferenceAndPodOutliveARestart) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/vm"}};
  node.pass(20s);
  const auto before = node.ledger.state().records.at(0);
  node.list = {};
  node.now.draw = 0x1111;
  restart();
  const auto& after = node.ledger.state().records;
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].ref, before.ref);
  EXPECT_EQ(after[0].answeredAt, before.answeredAt);
  EXPECT_EQ(after[0].podName, "ns/vm");
  EXPECT_EQ(after[0].state, HolderState::kAllocated);
}

// The pod ended while plugind was away, and this kubelet knows it.
TEST_F(RecordedTest, WhatTheSameKubeletLetGoIsReleased) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.forget("uid-1");
  restart();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  node.pass(20s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.told("released"));
}

// I4: plugind dies while it decides on a part of what the pod has: the other part is shown as
// before.
TEST_F(RecordedTest, I4_WhatAReofferUnderWayLeavesOutStaysHealthy) {
  showAll();
  node.start();
  hold("uid-1", "gpu", {kA, kB});
  node.answersQuestions = false;
  ASSERT_EQ(node.allocate("gpu", {kB}), "waits");
  restart();
  node.answersQuestions = true;
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+ 0000:01:00.1+"));
  node.pass(50s);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+ 0000:01:00.1+")) << "never answered";
  node.forget("uid-1");
  node.pass(70s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// I4: a re-offer was granted, not recorded, and its container started; the machine runs.
TEST_F(RecordedTest, I4_WhatTheKubeletNamesByAnEarlierGrantStaysHealthy) {
  node.start();
  hold("uid-1", "gpu", {kA});
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.newKubelet();
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  setUse(31, GroupUse::kOpen);
  restart();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
}

// Plugind and kubelet died together. What the former kubelet left has another of its grants: this
// one goes on from its memory, and knows that the pod ended.
TEST_F(RecordedTest, AKubeletThatGoesOnFromTheMemoryOfTheFormerIsBelieved) {
  for (const bool goesOn : {true, false}) {
    makeAnew();
    node.start();
    hold("uid-1", "gpu", {kA});
    ASSERT_EQ(node.allocate("gpu", {kC}), "granted");
    const auto& response = *node.answers.at(CallId(node.lastCall)).response;
    node.move(10ms);
    node.entries.push_back({"uid-2",
                            "main",
                            "vfiogate.dev/gpu",
                            {kC},
                            std::nullopt,
                            response.annotations.at(kRefAnnotation)});
    node.write();
    node.forget("uid-1");
    if (!goesOn) node.entries.clear();
    const CheckpointVersion left = node.version();
    const RecordedAllocations recorded = node.recordedNow(complete);
    node.pass(1s);
    node.ledger = Ledger(LedgerSettings{});
    node.kubelet = {node.kubelet.inode + 1, node.now.wall};
    node.see();
    node.run(node.ledger.kubeletSeen(node.kubelet, node.now));
    node.run(node.ledger.begin({left, node.list, {}, false, recorded}, node.now));
    node.run(node.ledger.versionRead(left, false, node.now, node.now.instant));
    EXPECT_EQ(node.allocate("gpu", {kA}), goesOn ? "granted" : "forgotten");
  }
}

// Without a record of this boot the kubelet's own word is waited for, as ever.
TEST_F(RecordedTest, ARecordThatMayLackSomethingAdoptsNothing) {
  node.recorded = RecordedAllocations{.groups = {}, .complete = false};
  node.registered = {{"vfiogate.dev/gpu", {kA}}};
  node.start(false);
  EXPECT_FALSE(node.ledger.adopted());
  node.pass(31s);
  EXPECT_TRUE(node.ledger.adopted());
}

// Another plugin's answer under our name: KubeVirt's own names groups, others what they like.
TEST_F(RecordedTest, I1_AnAnswerOfAnotherPluginIsWaitedFor) {
  for (const std::string id : {"31", "6f0c7a56-0000-4000-8000-00000000000a", "card0"}) {
    makeAnew();
    node.recorded = RecordedAllocations{.groups = {}, .complete = false};
    node.registered = {{"vfiogate.dev/gpu", {id}}};
    node.start(false);
    EXPECT_FALSE(node.ledger.adopted()) << id;
    node.record("p1", "gpu", {id});
    EXPECT_EQ(node.allocate("gpu", {kA}), id == "31" ? "group-allocated" : "foreign-ids");
  }
}

TEST_F(RecordedTest, AKubeletThatNeverHadOurDevicesHasNothingUnderWay) {
  node.recorded = RecordedAllocations{.groups = {}, .complete = false};
  node.registered = {{"example.com/nic", {"eth0", "31"}}};
  node.start(false);
  EXPECT_TRUE(node.ledger.adopted());
}

// A Prepare that comes with plugind's start is answered at once, not after its own deadline.
TEST_F(RecordedTest, APrepareAtTheStartDoesNotWait) {
  node.start();
  restart();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "granted");
}

// F-A, I5: the checkpoint is lost, and a starting kubelet lists nobody yet; the machine runs.
TEST_F(RecordedTest, I5_AStartingKubeletsListLetsNobodyGo) {
  node.start();
  hold("uid-1", "gpu", {kA});
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}}}, {"ns/vm"}};
  node.pass(20s);
  setUse(31, GroupUse::kOpen);
  node.entries.clear();
  node.list = {};
  node.newKubelet();
  restart();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  node.list = {{}, {"ns/vm"}};
  node.pass(90s);
  EXPECT_EQ(node.holding(kA), Holding::kForgotten);
  setUse(31, GroupUse::kIdle);  // the machine starts again
  node.pass(20s);
  EXPECT_EQ(node.allocate("gpu", {kA}), "forgotten");
}

// This kubelet had named it, and its own version does not: it let the pod go.
TEST_F(RecordedTest, WhatTheSameKubeletLetGoOpenLingersFromTheStart) {
  for (const bool readable : {true, false}) {
    makeAnew();
    node.readable = true;
    setUse(31, GroupUse::kIdle);
    node.start();
    hold("uid-1", "gpu", {kA});
    setUse(31, GroupUse::kOpen);
    node.forget("uid-1");
    node.readable = readable;
    restart();
    EXPECT_EQ(node.holding(kA), readable ? Holding::kLingering : Holding::kAllocated);
    node.ledger = Ledger(LedgerSettings{});
    node.recorded.reset();
  }
}

TEST_F(RecordedTest, APrivdThatCannotRecordGetsNothingAllocated) {
  node.start();
  node.onFile = false;
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(call), "not-recorded");
  EXPECT_THAT(node.text(call), HasSubstr("privd could not record the allocation"));
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST(AllocationNote, SaysWhatItWasTold) {
  const NotedAllocation noted{
      .resource = test::resource("gpu"),
      .ids = {at(kA), at(kB)},
      .ref = HolderRef(0x7f3a),
      .since = std::chrono::sys_seconds(1763841600s),
      .namedBy = KubeletIdentity{12, std::chrono::sys_time<std::chrono::nanoseconds>(34ns)},
      .podName = "default/vm",
      .podUid = "6f0c",
      .claim = std::nullopt};
  EXPECT_EQ(lineOf(noted),
            "resource=vfiogate.dev/gpu ids=0000:01:00.0,0000:01:00.1 ref=7f3a "
            "since=2025-11-22T20:00:00Z named-by=12:34 pod=default/vm uid=6f0c");
  EXPECT_THAT(allocationsIn(lineOf(noted)), ElementsAre(noted));
  EXPECT_THAT(allocationsIn(lineOf(noted) + "\nnonsense\n" + lineOf(noted) + " later=x"),
              ElementsAre(noted, noted));
}

TEST(AllocationNote, I10_WhatMakesNoSenseIsLeftOut) {
  for (const char* line :
       {"", " ", "=", "resource=x ids=0000:01:00.0 ref=1 since=2025-11-22T20:00:00Z",
        "resource=vfiogate.dev/gpu",
        "resource=vfiogate.dev/gpu ids= ref=7f3a since=2025-11-22T20:00:00Z",
        "resource=vfiogate.dev/gpu ids=0000:01:00.0, ref=10000 since=2025-11-22T20:00:00Z",
        "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=x",
        "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=2025-02-31T20:00:00Z",
        "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=2025-11-22T20:00:00Zx"}) {
    EXPECT_THAT(allocationsIn(line), IsEmpty()) << line;
  }
  NotedAllocation odd{.resource = test::resource("gpu"),
                      .ids = {at(kA)},
                      .ref = HolderRef(1),
                      .since = {},
                      .namedBy = std::nullopt,
                      .podName = "a b\nresource=x",
                      .podUid = std::nullopt,
                      .claim = std::nullopt};
  EXPECT_EQ(lineOf(odd),
            "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=0001 since=1970-01-01T00:00:00Z");
}

// What a resource has by its configuration is suspected by that alone, and not on file.
TEST_F(RecordedTest, I1_AForeignIdIsOnFileWithWhatItsResourceHasNoMore) {
  node.record("p1", "other", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.start();
  EXPECT_THAT(node.ledger.state().told, IsEmpty());
  node.settings.resources[0].select = *Selector::parse("address=" + std::string(kA));
  node.settings.resources[1].select = *Selector::parse("address=" + std::string(kC));
  node.offer("device=2685", "more");
  node.see();
  node.pass(75s);
  ASSERT_EQ(node.allocate("more", {kB}), "foreign-ids");
  EXPECT_THAT(node.ledger.state().told,
              ElementsAre(Pair(IommuGroupId(31), "foreign=vfiogate.dev/other ids=0000:01:00.1")));
  node.startAnew();
  EXPECT_EQ(node.allocate("more", {kB}), "foreign-ids");
  EXPECT_EQ(node.frame("more"), "0000:01:00.1-");
  node.forget("p1");
  node.pass(2min);
  EXPECT_EQ(node.allocate("more", {kB}), "granted");
}

TEST_F(RecordedTest, I1_SoItIsAsLongAsNoCheckpointCanBeRead) {
  node.record("p1", "other", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.start();
  node.settings.resources[1].name = test::resource("renamed");
  node.see();
  node.readable = false;
  node.startAnew();
  EXPECT_EQ(node.frame("renamed"), "0000:01:00.1-");
  const CallId call = node.ask("renamed", {kB});
  EXPECT_EQ(node.outcome(call), "foreign-ids");
  EXPECT_THAT(node.text(call), HasSubstr("a plugind before this one saw an id allocated"));
  node.readable = true;
  node.forget("p1");
  node.pass(2min);
  EXPECT_EQ(node.allocate("renamed", {kB}), "granted");
}

}  // namespace
}  // namespace vfiogate
