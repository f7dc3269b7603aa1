// Whom the gate takes for plugind, and how often it tries.

#include "privd/gate/plugind_dial.h"

#include "tests/unit/privd/gate/served_gate.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class PlugindDialTest : public testing::Test {
protected:
  PlugindDialTest() { chmod(dir_.path().c_str(), 0777); }

  kj::AutoCloseFd listener(uid_t uid = playedUid()) { return listenAs(uid, path_); }

  /// Dials at the moment that is due, and says how long that was after `begin_`.
  std::chrono::milliseconds attempt() {
    now_ = dial_.due();
    EXPECT_TRUE(dial_.dial(now_) == nullptr);
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_ - begin_);
  }
  /// What the log says of one attempt at once, of which nothing comes.
  std::string said(PlugindDial& dial) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(dial.dial(dial.due()) == nullptr);
    return testing::internal::GetCapturedStderr();
  }

  TempDir dir_;
  const std::string path_ = dir_ / "plugind.sock";
  PlugindDial dial_{path_, playedUid()};
  const PlugindDial::Clock::time_point begin_{};
  PlugindDial::Clock::time_point now_{};
};

TEST_F(PlugindDialTest, TriesAtOnceAndThenAfterPausesThatDoubleUpToTwoSeconds) {
  for (const auto expected : {0ms, 50ms, 150ms, 350ms, 750ms, 1550ms, 3150ms, 5150ms, 7150ms}) {
    EXPECT_EQ(attempt(), expected);
  }
}

TEST_F(PlugindDialTest, ItsAbsenceIsToldOnce) {
  EXPECT_THAT(said(dial_), HasSubstr("event=plugind_absent"));
  EXPECT_EQ(said(dial_), "");
}

TEST_F(PlugindDialTest, ASocketThatAppearsIsDialledFiveMillisecondsLater) {
  for (int i = 0; i < 9; ++i) attempt();
  dial_.look(now_);
  EXPECT_EQ(dial_.due(), now_ + 2s) << "nothing appeared";
  const auto plugind = listener();
  dial_.look(now_);
  EXPECT_EQ(dial_.due(), now_ + 5ms);
  dial_.look(now_ + 1ms);
  EXPECT_EQ(dial_.due(), now_ + 5ms) << "it is the same one";
  auto channel = dial_.dial(now_ + 5ms);
  EXPECT_TRUE(channel != nullptr);
}

TEST_F(PlugindDialTest, SaysWhichRoleItIsAndHandsPlugindItsEnd) {
  const auto plugind = listener();
  auto dialled = dial_.dial(begin_);
  const auto& ours = KJ_ASSERT_NONNULL(dialled);
  const auto connection = KJ_ASSERT_NONNULL(acceptFrom(plugind));
  auto received = receiveOpening(connection, kChannelVersion).value();
  const auto& opening = KJ_ASSERT_NONNULL(received);
  EXPECT_EQ(opening.role, PrivdRole::kGate);
  ASSERT_EQ(sendPacket(KJ_ASSERT_NONNULL(opening.channel), "packet"), PacketSent::kSent);
  auto packet = receivePacket(ours, 16).value();
  EXPECT_EQ(KJ_ASSERT_NONNULL(packet).bytes, "packet");
  char rest = 0;
  EXPECT_EQ(read(connection, &rest, 1), 0) << "the channel is all";
}

TEST_F(PlugindDialTest, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it is another user";
  const auto stranger = listener(1000);
  EXPECT_THAT(said(dial_), HasSubstr("event=plugind_refused role=gate socket=" + path_ +
                                     " uid=1000 expected=64532"));
  const auto connection = KJ_ASSERT_NONNULL(acceptFrom(stranger));
  char byte = 0;
  EXPECT_EQ(read(connection, &byte, 1), 0) << "it is told nothing";
}

// As where a link at plugind's path leads to a socket that the gate made for the kubelet.
TEST_F(PlugindDialTest, RootAndSoTheGateItselfIsRefusedWhateverItWasTold) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it is the gate's user";
  const auto itself = listener(0);
  EXPECT_THAT(said(dial_), HasSubstr("uid=0 expected=64532"));
  PlugindDial told(path_, 0);
  EXPECT_THAT(said(told), HasSubstr("event=plugind_refused"));
  auto accepted = acceptFrom(itself);
  char byte = 0;
  EXPECT_EQ(read(KJ_ASSERT_NONNULL(accepted), &byte, 1), 0);
}

TEST_F(PlugindDialTest, AChannelThatHeldIsDialledAgainSoonAndOneThatBrokeAtOnceIsNot) {
  const auto plugind = listener();
  for (int i = 0; i < 3; ++i) {
    now_ = dial_.due();
    EXPECT_TRUE(dial_.dial(now_) != nullptr);
    dial_.ended(now_ + 1ms);
  }
  EXPECT_EQ(dial_.due(), now_ + 1ms + 200ms);
  now_ = dial_.due();
  EXPECT_TRUE(dial_.dial(now_) != nullptr);
  dial_.ended(now_ + 2001ms);
  EXPECT_EQ(dial_.due(), now_ + 2001ms + 50ms);
}

TEST_F(PlugindDialTest, APlugindThatListensAnewIsDialledSoonWhenTheChannelEnds) {
  auto plugind = listener();
  EXPECT_TRUE(dial_.dial(begin_) != nullptr);
  plugind = listener();
  dial_.ended(begin_ + 1ms);
  EXPECT_EQ(dial_.due(), begin_ + 6ms);
}

}  // namespace
}  // namespace vfiogate::test
