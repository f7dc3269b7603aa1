#include "tests/unit/privd/binder/binder_channel_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

TEST_F(BinderChannelTest, TellsAtOnceWhereGroupsStand) {
  bindings_[IommuGroupId(8)] = {.bindable = true};
  view().rereadNow({IommuGroupId(8)});
  open();
  ASSERT_TRUE(first_);
  EXPECT_TRUE(first_->mayBind);
  ASSERT_EQ(first_->groups.size(), 1U);
  EXPECT_EQ(first_->groups[0].members, kMembersOfEight);
}

TEST_F(BinderChannelTest, TellsDifferencesEachAfterTheOneBeforeWasSeen) {
  open();
  becomes(8, {.bindable = true});
  ASSERT_TRUE(next<binder::Changed>());
  becomes(7, {.stuck = true});
  becomes(8, {.busy = true});
  EXPECT_FALSE(next<binder::Changed>()) << "the one before was not seen";
  ask(binder::Seen{});
  const auto both = next<binder::Changed>();
  ASSERT_TRUE(both);
  EXPECT_EQ(both->groups.size(), 2U);
}

TEST_F(BinderChannelTest, I7_WithoutTheRightNothingIsBound) {
  open(nullptr);
  EXPECT_FALSE(first_->mayBind);
  allocate();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDenied);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, kMembersOfSeven}), Outcome::kDenied);
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, I1_WhatIsNotOnRecordIsNotBound) {
  open();
  ask(binder::Bind{1, kMembersOfSeven});
  const auto answer = next<binder::Answer>();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::kRefused);
  EXPECT_EQ(answer->why, "it is not on record as allocated");
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, I7_AWholeGroupIsBoundAndGivenBack) {
  open();
  allocate();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDone);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, kMembersOfSeven}), Outcome::kDone);
  ASSERT_EQ(binder_.asked.size(), 2U);
  EXPECT_EQ(binder_.asked[0], std::pair(std::string("bind"), kMembersOfSeven));
  EXPECT_EQ(binder_.asked[1], std::pair(std::string("give back"), kMembersOfSeven));
}

TEST_F(BinderChannelTest, I7_MembersThatAreNoWholeGroupAreNotBound) {
  open();
  const std::vector<Bdf> part{kMembersOfSeven.front()};
  allocate(part);
  EXPECT_EQ(outcomeOf(binder::Bind{1, part}), Outcome::kVanished);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, part}), Outcome::kVanished);
  const std::vector<Bdf> two{kMembersOfSeven[0], kMembersOfSeven[1], kMembersOfEight[0]};
  EXPECT_EQ(outcomeOf(binder::GiveBack{3, two}), Outcome::kVanished);
  EXPECT_TRUE(binder_.asked.empty());
}

// A record may have a file for each of 800 devices, and all of them in each file.
TEST_F(BinderChannelTest, I10_TheRecordIsNotReadForMembersThatAreNoGroup) {
  open();
  const std::vector<Bdf> part{kMembersOfSeven.front()};
  EXPECT_EQ(outcomeOf(binder::Bind{1, part}), Outcome::kVanished) << "not refused for the record";
}

TEST_F(BinderChannelTest, AGroupThatLostAMemberIsNotBound) {
  open();
  allocate();
  tree_.remove("0000:01:00.1");
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kVanished);
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, TellsHowItEnded) {
  const std::vector<std::pair<AllocationAnswer::Outcome, Outcome>> rows{
      {AllocationAnswer::Outcome::kRefused, Outcome::kRefused},
      {AllocationAnswer::Outcome::kFailed, Outcome::kFailed},
      {AllocationAnswer::Outcome::kStuck, Outcome::kStuck},
      {AllocationAnswer::Outcome::kVanished, Outcome::kVanished},
  };
  open();
  allocate();
  std::uint32_t number = 40;
  for (const auto& [planned, told] : rows) {
    binder_.planned = {planned, "why it is so"};
    ask(binder::Bind{++number, kMembersOfSeven});
    EXPECT_EQ(next<binder::Answer>(), (binder::Answer{number, told, "why it is so"}));
  }
}

TEST_F(BinderChannelTest, WhatAChangeLeftIsToldBeforeItsAnswer) {
  open();
  allocate();
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  becomes(7, {.boundForAllocation = true});
  binder_.finishAll();
  const auto changed = next<binder::Changed>();
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->groups.at(0).binding.boundForAllocation);
  ask(binder::Seen{});
  EXPECT_TRUE(next<binder::Answer>());
}

TEST_F(BinderChannelTest, AnAnswerWaitsForWhatCannotBeToldYet) {
  open();
  allocate();
  becomes(8, {.bindable = true});
  ASSERT_TRUE(next<binder::Changed>());  // not seen yet
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  becomes(7, {.boundForAllocation = true});
  binder_.finishAll();
  turn();
  EXPECT_FALSE(heard());
  ask(binder::Seen{});
  EXPECT_TRUE(next<binder::Changed>());
  EXPECT_TRUE(next<binder::Answer>());
}

TEST_F(BinderChannelTest, GroupsAreChangedSideBySide) {
  open();
  allocate(kMembersOfSeven);
  allocate(kMembersOfEight);
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  ask(binder::Bind{2, kMembersOfEight});
  EXPECT_EQ(binder_.asked.size(), 2U);
  EXPECT_FALSE(hungUp());
}

TEST_F(BinderChannelTest, HangsUpOnANinthRequest) {
  open();
  binder_.waits = true;
  for (int device = 3; device < 12; ++device) {
    EXPECT_FALSE(hungUp()) << device;
    ask(binder::GiveBack{static_cast<std::uint32_t>(device), {*Bdf::parse(address(device))}});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
  EXPECT_EQ(binder_.asked.size(), binder::kMostInFlight);
}

// Answers that plugind does not let out count, or it could have us keep any number.
TEST_F(BinderChannelTest, I7_AnAnswerThatCannotBeToldIsInFlight) {
  open();
  becomes(8, {.bindable = true});
  for (int device = 3; device < 12; ++device) {
    ask(binder::GiveBack{static_cast<std::uint32_t>(device), {*Bdf::parse(address(device))}});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
}

// What is denied is answered at once, so that more than eight are never in flight: such requests
// without end must leave a turn to all else that the binder does.
TEST_F(BinderChannelTest, I10_WhoAlwaysHasSomethingToAskHoldsNothingElseUp) {
  open(nullptr);
  constexpr std::uint32_t kAsked = 100;
  for (std::uint32_t number = 1; number <= kAsked; ++number) {
    ASSERT_EQ(sendPacket(plugind_, encode(binder::Request(binder::Bind{number, kMembersOfSeven}))),
              PacketSent::kSent);
  }
  const auto answered = [this] {
    std::size_t answers = 0;
    while (heard()) ++answers;
    return answers;
  };
  io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
  std::size_t all = answered();
  EXPECT_LE(all, binder::kMostInFlight) << "before the timer had its turn";
  for (int turns = 0; turns < 100 && all < kAsked; ++turns) {
    turn();
    all += answered();
  }
  EXPECT_EQ(all, kAsked);
  EXPECT_FALSE(hungUp());
}

TEST_F(BinderChannelTest, I6_WhatIsDeniedIsLoggedOnceOfEachKind) {
  open(nullptr);
  testing::internal::CaptureStderr();
  for (std::uint32_t number = 1; number < 20; ++number) {
    EXPECT_EQ(outcomeOf(binder::GiveBack{number, kMembersOfSeven}), Outcome::kDenied);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("request_refused"));
  EXPECT_THAT(log, HasSubstr("request=give-back"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 1);
}

TEST_F(BinderChannelTest, I6_ABindThatIsNotOnRecordIsLogged) {
  open();
  testing::internal::CaptureStderr();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kRefused);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("request=bind"), HasSubstr("not on record")));
}

TEST_F(BinderChannelTest, HangsUpOnWhatIsNotAgreed) {
  const auto sends = [this](const std::string& packet, int fd = -1) {
    why_ = std::nullopt;
    binder_.waits = true;
    open();
    ask(binder::GiveBack{1, kMembersOfSeven});
    EXPECT_EQ(sendPacket(plugind_, packet, fd), PacketSent::kSent);
    return hungUp().value_or("it did not");
  };
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{2, kMembersOfSeven}))),
            "a second request for a group or card");
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{1, kMembersOfEight}))),
            "a second request for a group or card");
  EXPECT_EQ(sends(encode(binder::Request(binder::Seen{}))), "has seen what it was not told");
  EXPECT_THAT(sends("what is this"), HasSubstr("a request with "));
  EXPECT_THAT(sends(std::string(binder::kLargestRequest + 1, 'x')), HasSubstr("above its size"));
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{2, kMembersOfEight})), STDERR_FILENO),
            "sent a descriptor");
}

TEST_F(BinderChannelTest, APeerThatLeavesIsNoFault) {
  open();
  plugind_ = nullptr;
  EXPECT_EQ(hungUp(), "");
}

TEST_F(BinderChannelTest, APeerThatLeavesMeanwhileTakesNothingWithIt) {
  open();
  allocate();
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  channel_ = nullptr;
  binder_.finishAll();
  turn();
  binder_.waits = false;
  open();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDone);
}

}  // namespace
}  // namespace vfiogate::test
