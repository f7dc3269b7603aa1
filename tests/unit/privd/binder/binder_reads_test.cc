// What the binder reads for plugind: who has a group, and what a card tells.

#include "tests/unit/privd/binder/binder_channel_case.h"

namespace vfiogate::test {
namespace {

// Without the right to bind: mediated devices are never bound.
TEST_F(BinderChannelTest, AProbeOpensTheGroupsNodeAndSaysWhatCameOfIt) {
  using Found = binder::Probed::Found;
  open(nullptr);
  EXPECT_EQ(probed(1, 7), (binder::Probed{1, Found::kIdle, 0}));
  EXPECT_EQ(probed(2, 9), (binder::Probed{2, Found::kCannot, ENOENT}));
}

TEST_F(BinderChannelTest, I6_WithoutTheRightNoGroupIsOpened) {
  mayProbe_ = false;
  open();
  EXPECT_EQ(probed(1, 7), (binder::Probed{1, binder::Probed::Found::kDenied, 0}));
}

// Also over another channel: a peer that dials anew gets no more of them.
TEST_F(BinderChannelTest, I1_AGroupIsOpenedOnceASecondWhateverTheChannel) {
  open();
  ASSERT_TRUE(probed(1, 7));
  open();
  EXPECT_FALSE(probed(1, 7)) << "it waits";
  EXPECT_TRUE(probed(2, 8)) << "another group does not";
  io_.provider->getTimer().afterDelay(1 * kj::SECONDS).wait(io_.waitScope);
  EXPECT_EQ(next<binder::Probed>(), (binder::Probed{1, binder::Probed::Found::kIdle, 0}));
}

TEST_F(BinderChannelTest, HangsUpOnASecondProbeOfAGroupAndOnANinth) {
  open();
  ASSERT_TRUE(probed(1, 7));
  ask(binder::Probe{2, IommuGroupId(7)});
  ask(binder::Probe{3, IommuGroupId(7)});
  EXPECT_EQ(hungUp(), "a second request for a group or card");
  why_ = std::nullopt;
  open();
  becomes(8, {.bindable = true});  // no answer goes out before that is seen
  for (std::uint32_t number = 0; number <= binder::kMostInFlight; ++number) {
    EXPECT_FALSE(hungUp()) << number;
    ask(binder::Probe{number, IommuGroupId(900 + number)});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
}

// Without the right to bind, and to probe.
TEST_F(BinderChannelTest, ACardIsAskedForItsSerialNumber) {
  using Found = binder::SerialTold::Found;
  putVitalData("0000:01:00.0", "MT2112X01234");
  tree_.setAttribute("0000:01:00.1", "vpd", "\x78");
  mayProbe_ = false;
  open(nullptr);
  EXPECT_EQ(told(1, kMembersOfSeven[0]),
            (binder::SerialTold{1, Found::kSerial, 0, "MT2112X01234"}));
  EXPECT_EQ(told(2, kMembersOfSeven[1]), (binder::SerialTold{2, Found::kNone, 0, ""}));
  EXPECT_EQ(told(3, kMembersOfEight[0]), (binder::SerialTold{3, Found::kNone, 0, ""}))
      << "it has no vital product data";
  EXPECT_EQ(told(4, *Bdf::parse("0000:77:00.0")), (binder::SerialTold{4, Found::kNone, 0, ""}));
}

TEST_F(BinderChannelTest, I6_WithoutTheRightNoCardIsAsked) {
  putVitalData("0000:01:00.0", "MT2112X01234");
  mayAsk_ = false;
  open();
  EXPECT_EQ(told(1, kMembersOfSeven[0]),
            (binder::SerialTold{1, binder::SerialTold::Found::kDenied, 0, ""}));
}

TEST_F(BinderChannelTest, ACardIsAskedOnceASecondWhateverTheChannel) {
  putVitalData("0000:01:00.0", "MT1");
  open();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(told(1, kMembersOfSeven[0]).serial, "MT1");
  open();
  EXPECT_EQ(told(1, kMembersOfSeven[0]).serial, "MT1");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

// One that was read within the last second waits for its turn.
TEST_F(BinderChannelTest, HangsUpOnASecondReadOfACardAndNotOnOnesOfOthers) {
  putVitalData("0000:01:00.0", "MT1");
  open();
  ASSERT_EQ(told(1, kMembersOfSeven[0]).serial, "MT1");
  ask(binder::ReadSerial{2, kMembersOfSeven[0]});
  ask(binder::ReadSerial{3, kMembersOfSeven[1]});
  ask(binder::GiveBack{4, kMembersOfSeven});
  EXPECT_FALSE(hungUp()) << "each is of something else";
  ask(binder::ReadSerial{5, kMembersOfSeven[0]});
  EXPECT_EQ(hungUp(), "a second request for a group or card");
}

}  // namespace
}  // namespace vfiogate::test
