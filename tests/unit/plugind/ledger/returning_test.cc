// On-allocate: what goes back to its host driver, and what does not.

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/on_allocate_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

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
