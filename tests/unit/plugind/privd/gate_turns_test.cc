// Who speaks when on the gate's channel, without one.

#include "plugind/privd/gate_turns.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

namespace vfiogate {
namespace {

const gate::Dial kKubelet{gate::Dial::Socket::kRegistration};
const gate::Dial kPods{gate::Dial::Socket::kPodResources};

std::string answer(std::uint16_t detail) {
  return gate::encode(gate::FromGate(gate::Answer{.code = gate::Code::kFailed, .detail = detail}));
}

class GateTurnsTest : public testing::Test {
protected:
  ~GateTurnsTest() noexcept override = default;

  /// The `detail` of what the question was answered.
  std::uint16_t detailOf(kj::Promise<GateReply> asked) {
    return asked.wait(io_.waitScope).answer.detail;
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  GateTurns turns_;
};

TEST_F(GateTurnsTest, OneQuestionIsOnItsWayAndTheOthersFollowInOrder) {
  auto first = turns_.ask(kKubelet);
  auto second = turns_.ask(kPods);
  EXPECT_EQ(turns_.next(), gate::encode(gate::Request(kKubelet)));
  EXPECT_EQ(turns_.next(), std::nullopt);
  ASSERT_TRUE(turns_.take(answer(1), nullptr));
  EXPECT_EQ(turns_.next(), gate::encode(gate::Request(kPods)));
  ASSERT_TRUE(turns_.take(answer(2), nullptr));
  EXPECT_EQ(detailOf(kj::mv(first)), 1);
  EXPECT_EQ(detailOf(kj::mv(second)), 2);
}

TEST_F(GateTurnsTest, AQuestionThatNobodyWaitsForIsNotAsked) {
  { auto dropped = turns_.ask(kKubelet); }
  auto kept = turns_.ask(kPods);
  EXPECT_EQ(turns_.next(), gate::encode(gate::Request(kPods)));
}

TEST_F(GateTurnsTest, AnAnswerThatNobodyWaitsForAnyMoreGoesToNobodyElse) {
  {
    auto dropped = turns_.ask(kKubelet);
    turns_.next();
  }
  auto kept = turns_.ask(kPods);
  EXPECT_EQ(turns_.next(), std::nullopt) << "the gate answers it still";
  ASSERT_TRUE(turns_.take(answer(1), nullptr));
  turns_.next();
  ASSERT_TRUE(turns_.take(answer(2), nullptr));
  EXPECT_EQ(detailOf(kj::mv(kept)), 2);
}

TEST_F(GateTurnsTest, WhatIsToldUnaskedAnswersNothing) {
  auto asked = turns_.ask(kKubelet);
  turns_.next();
  gate::WatchedFiles files;
  files.checkpoint = gate::FileIdentity{7, 1};
  const auto told = turns_.take(gate::encode(gate::FromGate(gate::Changed{files})), nullptr);
  ASSERT_TRUE(told);
  EXPECT_EQ(**told, gate::Changed{files});
  EXPECT_TRUE(turns_.awaits());
}

TEST_F(GateTurnsTest, RefusesAnAnswerToNothingAndWhatIsNoMessage) {
  EXPECT_FALSE(turns_.take(answer(1), nullptr));
  auto waiting = turns_.ask(kKubelet);
  EXPECT_FALSE(turns_.take(answer(1), nullptr)) << "it is not on its way yet";
  turns_.next();
  EXPECT_FALSE(turns_.take("nonsense", nullptr));
}

TEST_F(GateTurnsTest, TheEndFailsWhatIsOnItsWayAndWhatWaits) {
  auto first = turns_.ask(kKubelet);
  auto second = turns_.ask(kPods);
  turns_.next();
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd is away"));
  EXPECT_ANY_THROW(first.wait(io_.waitScope));
  EXPECT_ANY_THROW(second.wait(io_.waitScope));
  EXPECT_EQ(turns_.next(), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
