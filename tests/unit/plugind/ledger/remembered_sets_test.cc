// Fixed sets after a restart or another configuration: what is remembered of them counts.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/allocation_note.h"
#include "tests/unit/plugind/ledger/sets_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::Sets;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(Sets, I5_AfterARestartTheKubeletsMemoryNamesAllItsDevices) {
  node.record("p1", "pair", {kLeft});
  node.start();
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(node.allocate("gpu", {kGpu[0]}), "not-shown");
}

/// What was recorded with the answer counts, not what the configuration has become.
TEST_F(Sets, I5_ASetThatWasChangedMeanwhileKeepsWhatWasAllocated) {
  node.start();
  hold("p1", "pair", kLeft);
  test::LedgerNode next = successor();
  next.settings.resources[1].sets = {{"left", {at(kGpu[0]), at(kGpu[2])}}};
  next.entries = node.entries;
  next.start();
  EXPECT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
  EXPECT_EQ(next.holding(kGpu[0]), Holding::kAllocated);
  EXPECT_EQ(next.holding(kGpu[2]), Holding::kFree);
}

/// I4 and a configuration that changed meanwhile: what it was before is held whole.
TEST_F(Sets, I4_ASetThatHasOtherDevicesByNowStaysHealthyBesideWhoeverHasThose) {
  node.start();
  hold("p1", "pair", kLeft);
  node.settings.resources[1].sets = {{"left", {at(kGpu[0]), at(kGpu[2])}}};
  node.see();
  ASSERT_EQ(node.allocate("gpu", {kGpu[2]}), "granted");
  EXPECT_THAT(node.frame("pair"), HasSubstr("set:left+"));
}

TEST_F(Sets, I5_ASetThatIsNotConfiguredAnyMoreStaysItsPods) {
  node.start();
  hold("p1", "pair", kLeft);
  node.settings.resources.erase(node.settings.resources.begin() + 1);
  node.see();
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right-");
  node.pass(61s);
  EXPECT_EQ(node.frame("pair"), "set:left+");
}

/// As with a device that its resource does not have any more.
TEST_F(Sets, OneThatIsNotConfiguredAnyMoreIsGrantedAgain) {
  node.start();
  hold("p1", "pair", kLeft);
  selectNothing();
  ASSERT_EQ(node.allocate("pair", {kLeft}), "granted");
  node.pass(100ms);
  node.write();
  node.startAnew();
  EXPECT_EQ(node.allocate("pair", {kLeft}), "granted");
}

TEST_F(Sets, APodGetsOneThatAReloadDropsWhileItIsTaken) {
  node.start();
  node.answersQuestions = false;
  const CallId call = node.ask("pair", {kLeft});
  selectNothing();
  for (const std::uint32_t number : {31U, 32U}) {
    const IommuGroupId group(number);
    node.run(node.ledger.groupRead(group, node.reread(group), call, node.now));
  }
  EXPECT_EQ(node.outcome(call), "granted");
}

TEST_F(Sets, I9_OneThatIsNotConfiguredAnyMoreIsNotGrantedAgainWithAnExcludedDevice) {
  node.start();
  hold("p1", "pair", kLeft);
  node.settings.exclude.push_back(*Selector::parse("address=" + std::string(kGpu[1])));
  selectNothing();
  EXPECT_EQ(node.allocate("pair", {kLeft}), "not-viable:excluded");
}

TEST_F(Sets, ASetThatNothingIsKnownOfKeepsItsResourceFromGrowing) {
  node.record("p1", "pair", {"set:other"});
  node.start();
  EXPECT_EQ(node.frame("pair"), "set:left- set:right-");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "foreign-ids");
}

TEST_F(Sets, PrivdsRecordSaysByWhichSetTheDevicesWereAllocated) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  const auto noted = allocationsIn(notes.at(IommuGroupId(31)));
  ASSERT_THAT(noted, SizeIs(1));
  EXPECT_EQ(noted.front().set, kLeft);
  test::LedgerNode next = successor();
  next.readable = false;
  next.noCheckpoint = true;
  next.recorded.emplace();
  for (const auto& [group, note] : notes) {
    next.recorded->groups.push_back({.members = {at(kGpu[group.number() - 31])}, .note = note});
  }
  next.start(false);
  EXPECT_EQ(next.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
}

/// Its groups are let go one by one, and plugind may be killed in between.
TEST_F(Sets, I5_ASetThatWasLetGoInPartIsNotHealthyBesideAnotherPod) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  test::LedgerNode next = successor();
  next.recorded.emplace();
  next.recorded->groups.push_back({.members = {at(kGpu[1])}, .note = notes.at(IommuGroupId(32))});
  next.start();
  ASSERT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
  ASSERT_EQ(next.holding(kGpu[0]), Holding::kFree);
  EXPECT_EQ(next.frame("pair"), "set:left+ set:right+");
  ASSERT_EQ(next.allocate("gpu", {kGpu[0]}), "granted");
  EXPECT_EQ(next.frame("pair"), "set:left- set:right+");
  EXPECT_EQ(next.allocate("pair", {kLeft}), "group-allocated");
}

/// Its address was not in the group any more when privd recorded that for the last time.
TEST_F(Sets, I1_ADeviceThatWasUnpluggedStaysItsPodsOverARestart) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  test::LedgerNode next = successor();
  next.recorded.emplace();
  next.recorded->groups = {{.members = {at(kGpu[0])}, .note = notes.at(IommuGroupId(31))},
                           {.members = {at("0000:02:00.1")}, .note = notes.at(IommuGroupId(32))}};
  next.start();
  EXPECT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
  EXPECT_EQ(next.allocate("gpu", {kGpu[1]}), "not-shown");
  EXPECT_EQ(next.frame("pair"), "set:left+ set:right+");
}

}  // namespace
}  // namespace vfiogate
