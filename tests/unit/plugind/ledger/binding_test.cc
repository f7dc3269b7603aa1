// On-allocate: binds for calls, and what goes back to its host driver.

#include <gmock/gmock.h>

#include <algorithm>

#include "plugind/core/status.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

const IommuGroupId kSharedGroup(31);
const IommuGroupId kOwnGroup(32);
/// As its host driver has it.
void putOnHost(PciDevice& device) {
  device.driver = "nvidia";
  device.vfioDev.reset();
  device.cdevNode = false;
}

using Ending = BindOutcome::Answer;

/// a and b in group 31 and c in group 32, on host drivers, to be bound when they are lent.
class OnAllocate : public LedgerCase {
protected:
  OnAllocate() {
    for (ResourceSettings& entry : node.settings.resources) entry.lending.onAllocate = true;
    for (const char* address : {kA, kB, kC}) {
      bound_.push_back(node.hardware.device(address));
      putOnHost(node.hardware.device(address));
    }
    node.facts.bindable = {kSharedGroup, kOwnGroup};
  }

  void wantBack() {
    for (ResourceSettings& entry : node.settings.resources) entry.lending.returnToOriginal = true;
  }
  /// What privd shows of its bind of group 31, or of its undoing.
  void showBound() {
    node.hardware.device(kA) = bound_[0];
    node.hardware.device(kB) = bound_[1];
    node.facts.bindable.erase(kSharedGroup);
    node.facts.boundForLending.insert(kSharedGroup);
    node.see();
  }
  void showBack() {
    putOnHost(node.hardware.device(kA));
    putOnHost(node.hardware.device(kB));
    node.facts.bindable.insert(kSharedGroup);
    node.facts.boundForLending.erase(kSharedGroup);
    node.see();
  }
  void showBusy(bool busy) {
    node.facts.binding.clear();
    if (busy) node.facts.binding.insert(kSharedGroup);
    node.see();
  }
  void endBind(IommuGroupId group, const BindOutcome& outcome = {}) {
    node.run(node.ledger.bindEnded(group, outcome, node.now));
  }
  void endReturn(const BindOutcome& outcome = {}) {
    node.run(node.ledger.returnEnded(kSharedGroup, outcome, node.now));
  }
  /// A pod that was lent a, and has gone: its group is on its way back.
  void lendAndRelease() {
    wantBack();
    node.start();
    const CallId call = node.ask("gpu", {kA});
    showBound();
    endBind(kSharedGroup);
    ASSERT_EQ(node.outcome(call), "granted");
    node.record("p1", "gpu", {kA});
    node.write();
    node.forget("p1");
    node.pass(75s);
    ASSERT_EQ(node.holding(kA), Holding::kReturning);
  }
  CallId preStart(std::vector<std::string> ids) {
    node.preStart("gpu", std::move(ids));
    return CallId(node.lastCall);
  }

  std::vector<PciDevice> bound_;
};

TEST_F(OnAllocate, ShowsWhatTheGuardsLetThrough) {
  node.facts.bindable = {kOwnGroup};
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  node.facts.bindable = {kSharedGroup};
  node.see();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:02:00.0-"));
}

TEST_F(OnAllocate, I1_WhileItIsBoundTheSiblingIsNobodys) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  ASSERT_EQ(node.last.binds, std::vector{kSharedGroup});
  EXPECT_EQ(node.allocate("other", {kB}), "being-lent");
  showBusy(true);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+")) << "T5: the one that is asked for";
  EXPECT_THAT(node.frame("other"), Not(HasSubstr("+")));
  showBusy(false);
  showBound();
  EXPECT_EQ(node.outcome(call), "waits") << "privd has not said that it is done";
  endBind(kSharedGroup);
  EXPECT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.allocate("other", {kB}), "group-lent");
}

TEST_F(OnAllocate, AFailedBindRefusesWithoutPrivdsWords) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  endBind(kSharedGroup, {Ending::kRefused, "nvme0n1 is mounted at /srv"});
  EXPECT_EQ(node.outcome(call), "bind-failed:refused");
  EXPECT_THAT(node.text(call), HasSubstr("0000:01:00.0, group 31: could not be bound"));
  EXPECT_THAT(node.text(call), Not(HasSubstr("/srv")));
  ASSERT_TRUE(node.told("bind-failed"));
  EXPECT_THAT(std::ranges::find(node.journal, "bind-failed", &JournalEvent::event)->text,
              HasSubstr("/srv"));
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(OnAllocate, WhatCouldNotBeBoundRestsSoThatTheNextPodGoesElsewhere) {
  node.start();
  node.ask("gpu", {kA});
  endBind(kSharedGroup, {Ending::kFailed, "EBUSY"});
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  const PluginStatus status = statusOf(node.ledger.state(), {});
  EXPECT_EQ(status.resources.front().devices.front().reason, "bind-failed");
  node.pass(30s);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(OnAllocate, InFullDetailARefusalHasPrivdsWords) {
  LedgerSettings full;
  full.refusalDetail = RefusalDetail::kFull;
  node.ledger = Ledger(full);
  node.start();
  const CallId call = node.ask("gpu", {kA});
  endBind(kSharedGroup, {Ending::kRefused, "nvme0n1 is mounted at /srv"});
  EXPECT_THAT(node.text(call), HasSubstr("nvme0n1 is mounted at /srv"));
}

TEST_F(OnAllocate, ABindHasItsOwnDeadlineAndALateOneServesTheNextPod) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  node.pass(timing::kBindDeadline - 1ms);
  EXPECT_EQ(node.outcome(call), "waits");
  node.pass(1ms);
  EXPECT_EQ(node.outcome(call), "timed-out");
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0-")) << "its bind still runs";
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-viable:binding");
  showBound();
  endBind(kSharedGroup);
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
}

TEST_F(OnAllocate, WhatWasBoundForACallThatIsRefusedGoesBack) {
  wantBack();
  node.start();
  const CallId call = node.ask("gpu", {kA});
  showBound();
  node.use(31, GroupUse::kOpen);
  node.answersQuestions = false;
  endBind(kSharedGroup);
  GroupLook failed;
  failed.answer = GroupLook::Answer::kFailed;
  node.run(node.ledger.groupRead(kSharedGroup, failed, call, node.now));
  EXPECT_EQ(node.outcome(call), "cannot-tell");
  EXPECT_EQ(node.last.returns, std::vector{kSharedGroup});
  EXPECT_EQ(node.holding(kA), Holding::kReturning);
}

TEST_F(OnAllocate, AReleasedGroupGoesBackAndIsOfferedAgain) {
  lendAndRelease();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0-"));
  showBack();
  EXPECT_EQ(node.allocate("gpu", {kA}), "returning") << "privd has not said that it is done";
  endReturn();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  EXPECT_TRUE(node.told("returned"));
}

TEST_F(OnAllocate, I7_WhatWasNotBoundForALendingStaysWhereItIs) {
  wantBack();
  showBound();
  node.facts.boundForLending.clear();
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  node.record("p1", "gpu", {kA});
  node.write();
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_FALSE(node.told("returned"));
}

TEST_F(OnAllocate, AReturnThatFailedLeavesTheGroupFreeAndBad) {
  lendAndRelease();
  node.facts.stuck = {kSharedGroup};
  node.see();
  endReturn({Ending::kStuck, "unbind of 0000:01:00.0 has not come back"});
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.told("return-failed"));
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-viable:write-stuck");
}

TEST_F(OnAllocate, AReturnThatPrivdsEndCutOffGoesOn) {
  lendAndRelease();
  node.run(node.ledger.privdWent(node.now));
  EXPECT_EQ(node.holding(kA), Holding::kReturning);
  node.see();
  EXPECT_EQ(node.last.returns, std::vector{kSharedGroup}) << "it is on VFIO still";
  node.run(node.ledger.privdWent(node.now));
  showBack();
  EXPECT_THAT(node.last.returns, IsEmpty());
  EXPECT_EQ(node.holding(kA), Holding::kFree) << "it went back without our hearing of it";
}

TEST_F(OnAllocate, ABindThatPrivdsEndCutOffIsJudgedAnew) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  ASSERT_EQ(node.last.binds, std::vector{kSharedGroup});
  node.run(node.ledger.privdWent(node.now));
  EXPECT_EQ(node.outcome(call), "waits");
  node.see();
  EXPECT_EQ(node.last.binds, std::vector{kSharedGroup});
  showBound();
  endBind(kSharedGroup);
  EXPECT_EQ(node.outcome(call), "granted");
}

TEST_F(OnAllocate, APreStartBindsAllItsGroups) {
  node.record("p1", "gpu", {kA, kC});
  node.start();
  const CallId call = preStart({kA, kC});
  EXPECT_EQ(node.last.binds, (std::vector{kSharedGroup, kOwnGroup}));
  showBound();
  endBind(kSharedGroup);
  EXPECT_EQ(node.outcome(call), "waits");
  endBind(kOwnGroup, {Ending::kFailed, "EBUSY"});
  EXPECT_EQ(node.outcome(call), "bind-failed:failed");
}

TEST_F(OnAllocate, APreStartIsNotRefusedForAnotherPodsBind) {
  node.record("p1", "gpu", {kA});
  node.entries[0].lent = std::string();
  node.start();
  const CallId start = preStart({kA});
  const CallId other = node.ask("gpu", {kC});
  endBind(kOwnGroup, {Ending::kFailed, "EBUSY"});
  EXPECT_EQ(node.outcome(other), "bind-failed:failed");
  EXPECT_EQ(node.outcome(start), "waits");
}

TEST_F(OnAllocate, APreStartAfterPrivdsReturnBindsAgain) {
  node.record("p1", "gpu", {kA});
  node.start();
  preStart({kA});
  node.run(node.ledger.privdWent(node.now));
  node.see();
  EXPECT_EQ(node.last.binds, std::vector{kSharedGroup});
}

TEST_F(OnAllocate, I4_AnOperatorsHoldTakesTheFreeAndNotTheHeld) {
  showBound();
  node.start();
  hold("p1", "gpu", {kA});
  node.facts.operatorHeld = {kSharedGroup, kOwnGroup};
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  EXPECT_EQ(node.allocate("gpu", {kC}), "not-viable:operator-hold");
  node.facts.operatorHeld.clear();
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(OnAllocate, I4_AnOperatorsHoldKeepsNoContainerFromStartingAgain) {
  showBound();
  node.start();
  hold("p1", "gpu", {kA});
  node.facts.operatorHeld = {kSharedGroup};
  node.see();
  EXPECT_EQ(node.outcome(preStart({kA})), "done");
}

TEST_F(OnAllocate, OurOwnBindsAreNoFlaps) {
  node.start();
  for (int i = 0; i < 20; ++i) {
    showBusy(true);
    showBusy(false);
  }
  EXPECT_FALSE(node.told("withheld"));
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
}

TEST_F(OnAllocate, WithoutTheRightNothingIsOfferedAndStatusSaysWhy) {
  node.facts.bindable.clear();
  node.facts.mayBind = false;
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0-");
  const PluginStatus status = statusOf(node.ledger.state(), {});
  ASSERT_FALSE(status.obstacles.empty());
  EXPECT_EQ(status.obstacles.back().code, "no_right_to_bind");
  EXPECT_THAT(status.resources.front().devices.front().hardwareText, HasSubstr("no right to bind"));
}

TEST_F(OnAllocate, StatusSaysBindable) {
  node.start();
  const PluginStatus status = statusOf(node.ledger.state(), {});
  EXPECT_EQ(status.resources.front().devices.front().hardware, "bindable");
  EXPECT_EQ(status.resources.front().devices.front().reason, "offered");
}

TEST(HardwareFacts, ComeFromPrivdsRecordOfEachGroup) {
  Snapshot snapshot;
  IommuGroup group{.id = kSharedGroup};
  group.office = {.bindable = true, .boundForLending = true};
  snapshot.groups.emplace(group.id, group);
  IommuGroup other{.id = kOwnGroup};
  other.office = {.busy = true, .operatorHeld = true, .stuck = true};
  snapshot.groups.emplace(other.id, other);
  const HardwareFacts facts = factsOf(snapshot, true);
  EXPECT_EQ(facts.bindable, std::set{kSharedGroup});
  EXPECT_EQ(facts.boundForLending, std::set{kSharedGroup});
  EXPECT_EQ(facts.binding, std::set{kOwnGroup});
  EXPECT_EQ(facts.operatorHeld, std::set{kOwnGroup});
  EXPECT_EQ(facts.stuck, std::set{kOwnGroup});
  EXPECT_THAT(factsOf(snapshot, false).bindable, IsEmpty());
}

}  // namespace
}  // namespace vfiogate::test
