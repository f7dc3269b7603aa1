// On-allocate: binds for calls, and what goes back to its host driver.

#include <gmock/gmock.h>

#include <algorithm>

#include "plugind/core/status/status.h"
#include "tests/unit/plugind/ledger/on_allocate_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

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
  EXPECT_EQ(node.allocate("other", {kB}), "being-allocated");
  showBusy(true);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+")) << "T5: the one that is asked for";
  EXPECT_THAT(node.frame("other"), Not(HasSubstr("+")));
  showBusy(false);
  showBound();
  EXPECT_EQ(node.outcome(call), "waits") << "privd has not said that it is done";
  endBind(kSharedGroup);
  EXPECT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
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

// Its evidence changed since the binder looked, and this pod is the first to hear of it.
TEST_F(OnAllocate, AGuardThatRefusesABindIsNamedWithItsEvidence) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  endBind(kSharedGroup, {Ending::kRefused, "0000:01:00.1: users: module nvidia has 2 users"});
  ASSERT_EQ(node.outcome(call), "not-viable:guard-users");
  EXPECT_EQ(node.text(call),
            "0000:01:00.0, group 31: privd does not bind it: users: 0000:01:00.1: module nvidia "
            "has 2 users, not-viable:guard-users");
  EXPECT_TRUE(node.told("bind-failed"));
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(OnAllocate, SoItIsForAStart) {
  node.record("p1", "gpu", {kA});
  node.start();
  ASSERT_EQ(node.preStart("gpu", {kA}), "waits");
  const CallId call(node.lastCall);
  endBind(kSharedGroup, {Ending::kRefused, "0000:01:00.1: root-disk: it carries /"});
  EXPECT_EQ(node.outcome(call), "not-viable:guard-root-disk");
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

// Somebody changes its drivers just now: that says nothing against the group.
TEST_F(OnAllocate, WhatIsNotOnRecordIsNotToBeBoundAndDoesNotRest) {
  node.start();
  node.onFile = false;
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(call), "not-recorded");
  EXPECT_TRUE(node.last.binds.empty());
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
  node.entries[0].allocated = std::string();
  node.start();
  const CallId start = preStart({kA});
  const CallId other = node.ask("gpu", {kC});
  endBind(kOwnGroup, {Ending::kFailed, "EBUSY"});
  EXPECT_EQ(node.outcome(other), "bind-failed:failed");
  EXPECT_EQ(node.outcome(start), "waits");
}

TEST_F(OnAllocate, I4_AnOperatorsExclusionTakesTheFreeAndNotTheHeld) {
  showBound();
  node.start();
  hold("p1", "gpu", {kA});
  node.facts.excluded = {kSharedGroup, kOwnGroup};
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  EXPECT_EQ(node.allocate("gpu", {kC}), "not-viable:operator-excluded");
  node.facts.excluded.clear();
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(OnAllocate, I4_AnOperatorsExclusionKeepsNoContainerFromStartingAgain) {
  showBound();
  node.start();
  hold("p1", "gpu", {kA});
  node.facts.excluded = {kSharedGroup};
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

TEST_F(OnAllocate, TheGuardThatRefusesIsSaidEverywhere) {
  node.facts.bindable = {kOwnGroup};
  node.facts.barred = {
      {kSharedGroup, "users: 0000:01:00.0: module nvidia is used 3 times; end it"}};
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(call), "not-viable:guard-users");
  EXPECT_THAT(node.text(call), HasSubstr("module nvidia is used 3 times"));
  const DeviceStatus a = statusOf(node.ledger.state(), {}).resources.front().devices.front();
  EXPECT_EQ(a.reason, "guard-users");
  EXPECT_THAT(a.reasonText, HasSubstr("module nvidia is used 3 times"));
  node.facts.barred.clear();
  node.facts.bindable.insert(kSharedGroup);
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
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
  group.binding = {.bindable = true, .boundForAllocation = true};
  snapshot.groups.emplace(group.id, group);
  IommuGroup other{.id = kOwnGroup};
  other.binding = {.busy = true, .excluded = true, .stuck = true, .bar = "users: why"};
  snapshot.groups.emplace(other.id, other);
  const HardwareFacts facts = factsOf(snapshot, true);
  EXPECT_EQ(facts.bindable, std::set{kSharedGroup});
  EXPECT_EQ(facts.boundForAllocation, std::set{kSharedGroup});
  EXPECT_EQ(facts.binding, std::set{kOwnGroup});
  EXPECT_EQ(facts.excluded, std::set{kOwnGroup});
  EXPECT_EQ(facts.barred.at(kOwnGroup), "users: why");
  EXPECT_EQ(facts.stuck, std::set{kOwnGroup});
  EXPECT_THAT(factsOf(snapshot, false).bindable, IsEmpty());
}

TEST_F(OnAllocate, WhatWasBoundForACallThatIsRefusedGoesBack) {
  wantBack();
  node.start();
  const CallId call = node.ask("gpu", {kA});
  showBound();
  node.use(31, GroupUse::kOpen);
  node.answersQuestions = false;
  endBind(kSharedGroup);
  GroupReading failed;
  failed.answer = GroupReading::Answer::kFailed;
  node.run(node.ledger.groupRead(kSharedGroup, failed, call, node.now));
  EXPECT_EQ(node.outcome(call), "cannot-tell");
  EXPECT_EQ(node.last.returns, std::vector{kSharedGroup});
  EXPECT_EQ(node.holding(kA), Holding::kReturning);
}

TEST_F(OnAllocate, AReleasedGroupGoesBackAndIsOfferedAgain) {
  allocateAndRelease();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0-"));
  showBack();
  EXPECT_EQ(node.allocate("gpu", {kA}), "returning") << "privd has not said that it is done";
  endReturn();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  EXPECT_TRUE(node.told("returned"));
}

TEST_F(OnAllocate, I7_WhatWasNotBoundForAnAllocationStaysWhereItIs) {
  wantBack();
  showBound();
  node.facts.boundForAllocation.clear();
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
  allocateAndRelease();
  node.facts.stuck = {kSharedGroup};
  node.see();
  endReturn({Ending::kStuck, "unbind of 0000:01:00.0 has not come back"});
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.told("return-failed"));
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-viable:write-stuck");
}

TEST_F(OnAllocate, AReturnThatPrivdsEndCutOffGoesOn) {
  allocateAndRelease();
  node.run(node.ledger.privdWent(node.now));
  EXPECT_EQ(node.holding(kA), Holding::kReturning);
  node.see();
  EXPECT_EQ(node.last.returns, std::vector{kSharedGroup}) << "it is on VFIO still";
  node.run(node.ledger.privdWent(node.now));
  showBack();
  EXPECT_THAT(node.last.returns, IsEmpty());
  EXPECT_EQ(node.holding(kA), Holding::kFree) << "it went back without our hearing of it";
}

TEST_F(OnAllocate, APreStartAfterPrivdsReturnBindsAgain) {
  node.record("p1", "gpu", {kA});
  node.start();
  preStart({kA});
  node.run(node.ledger.privdWent(node.now));
  node.see();
  EXPECT_EQ(node.last.binds, std::vector{kSharedGroup});
}

}  // namespace
}  // namespace vfiogate::test
