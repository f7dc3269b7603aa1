// What may be on its way on the binder's channel, without one.

#include "plugind/privd/link/binder_turns.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <map>
#include <random>

namespace vfiogate {
namespace {

using binder::Answer;

std::vector<Bdf> group(std::uint8_t bus) {
  return {*Bdf::make(0, bus, 0, 0), *Bdf::make(0, bus, 0, 1)};
}

std::string answer(std::uint32_t number, const std::string& why = {}) {
  return encode(binder::FromBinder(Answer{.number = number, .why = why}));
}

std::string found(std::uint32_t number, binder::Probed::Found found) {
  return encode(binder::FromBinder(binder::Probed{.number = number, .found = found}));
}

class BinderTurnsTest : public testing::Test {
protected:
  ~BinderTurnsTest() noexcept override = default;

  kj::Promise<Answer> bind(std::uint8_t bus) { return turns_.ask(DriverChange::kBind, group(bus)); }
  std::string whyOf(kj::Promise<Answer> asked) { return asked.wait(io_.waitScope).why; }

  /// The number of the request to send now; absent: there is none.
  std::optional<std::uint32_t> next() {
    const auto packet = turns_.next();
    if (!packet) return std::nullopt;
    const auto request = binder::decodeRequest(*packet);
    if (const auto* asked = std::get_if<binder::Bind>(&*request)) return asked->number;
    return std::get<binder::GiveBack>(*request).number;
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  BinderTurns turns_;
};

TEST_F(BinderTurnsTest, ChangesOfSeveralGroupsAreOnTheirWayAndAnswersFindTheirs) {
  auto first = bind(1);
  auto second = turns_.ask(DriverChange::kGiveBack, group(2));
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::Bind{1, group(1)})));
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::GiveBack{2, group(2)})));
  EXPECT_EQ(next(), std::nullopt);
  ASSERT_TRUE(turns_.take(answer(2, "second")));
  ASSERT_TRUE(turns_.take(answer(1, "first")));
  EXPECT_EQ(whyOf(kj::mv(first)), "first");
  EXPECT_EQ(whyOf(kj::mv(second)), "second");
}

TEST_F(BinderTurnsTest, OneChangeAGroupIsOnItsWayInTheOrderOfTheQuestions) {
  auto first = bind(1);
  auto second = turns_.ask(DriverChange::kGiveBack, {group(1)[1]});
  auto third = bind(1);
  auto other = bind(2);
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(next(), 2U) << "the other group's";
  EXPECT_EQ(next(), std::nullopt);
  ASSERT_TRUE(turns_.take(answer(1)));
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::GiveBack{3, {group(1)[1]}})))
      << "it shares a device";
  EXPECT_EQ(next(), std::nullopt);
  ASSERT_TRUE(turns_.take(answer(3)));
  EXPECT_EQ(next(), 4U);
}

TEST_F(BinderTurnsTest, OneProbeAGroupIsOnItsWayBesideChanges) {
  using Found = binder::Probed::Found;
  auto change = bind(1);
  auto first = turns_.probe(IommuGroupId(60));
  auto again = turns_.probe(IommuGroupId(60));
  auto other = turns_.probe(IommuGroupId(61));
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::Probe{2, IommuGroupId(60)})));
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::Probe{3, IommuGroupId(61)})));
  EXPECT_EQ(turns_.next(), std::nullopt);
  ASSERT_TRUE(turns_.take(found(2, Found::kOpen)));
  EXPECT_EQ(first.wait(io_.waitScope).found, Found::kOpen);
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::Probe{4, IommuGroupId(60)})));
  ASSERT_TRUE(turns_.take(found(4, Found::kIdle)));
  EXPECT_EQ(again.wait(io_.waitScope).found, Found::kIdle);
  EXPECT_FALSE(other.poll(io_.waitScope));
}

TEST_F(BinderTurnsTest, OneSerialNumberACardIsOnItsWayBesideChanges) {
  using Found = binder::SerialTold::Found;
  const auto told = [](std::uint32_t number, const char* serial) {
    return encode(binder::FromBinder(binder::SerialTold{number, Found::kSerial, 0, serial}));
  };
  const Bdf card = *Bdf::parse("0000:01:00.0");
  auto change = bind(1);
  auto first = turns_.serialOf(card);
  auto again = turns_.serialOf(card);
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::ReadSerial{2, card})));
  EXPECT_EQ(turns_.next(), std::nullopt);
  EXPECT_EQ(turns_.take(told(1, "A")).error(), "the answer to another");
  ASSERT_TRUE(turns_.take(told(2, "A")));
  EXPECT_EQ(first.wait(io_.waitScope).serial, "A");
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::ReadSerial{3, card})));
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd-binder is away"));
  EXPECT_ANY_THROW(again.wait(io_.waitScope));
}

TEST_F(BinderTurnsTest, RefusesTheAnswerToAnotherKindOfQuestion) {
  auto change = bind(1);
  auto probe = turns_.probe(IommuGroupId(60));
  next();
  turns_.next();
  EXPECT_EQ(turns_.take(found(1, binder::Probed::Found::kIdle)).error(), "the answer to another");
  EXPECT_EQ(turns_.take(answer(2)).error(), "the answer to another");
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd-binder is away"));
  EXPECT_ANY_THROW(probe.wait(io_.waitScope));
  EXPECT_ANY_THROW(change.wait(io_.waitScope));
}

TEST_F(BinderTurnsTest, EightAreOnTheirWayAndTheNinthWaits) {
  std::vector<kj::Promise<Answer>> asked;
  for (std::uint8_t bus = 1; bus <= 9; ++bus) asked.push_back(bind(bus));
  for (std::uint32_t number = 1; number <= 8; ++number) EXPECT_EQ(next(), number);
  EXPECT_EQ(next(), std::nullopt);
  ASSERT_TRUE(turns_.take(answer(5)));
  EXPECT_EQ(next(), 9U);
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(BinderTurnsTest, AQuestionThatNobodyWaitsForIsNotAsked) {
  { auto dropped = bind(1); }
  auto kept = bind(1);
  EXPECT_EQ(turns_.next(), encode(binder::Request(binder::Bind{1, group(1)})));
  EXPECT_EQ(next(), std::nullopt);
}

// Nothing is answered: each question comes from somebody who gives up and asks again.
TEST_F(BinderTurnsTest, I10_WhatNobodyWaitsForGoesOutOfTheRowAlsoWhileNothingMayBeSent) {
  std::vector<kj::Promise<Answer>> asked;
  for (std::uint8_t bus = 1; bus <= 8; ++bus) {
    asked.push_back(bind(bus));
    next();
  }
  for (int again = 0; again < 100; ++again) {
    auto probe = turns_.probe(IommuGroupId(60));
    EXPECT_EQ(turns_.next(), std::nullopt);
    EXPECT_EQ(turns_.waiting(), 1U);
  }
}

TEST_F(BinderTurnsTest, AChangeThatNobodyWaitsForAnyMoreKeepsItsPlaceUntilItIsAnswered) {
  {
    auto dropped = bind(1);
    next();
  }
  auto kept = bind(1);
  EXPECT_EQ(next(), std::nullopt) << "the binder is at it still";
  ASSERT_TRUE(turns_.take(answer(1)));
  EXPECT_EQ(next(), 2U);
}

TEST_F(BinderTurnsTest, WhatIsToldUnaskedAnswersNothing) {
  auto asked = bind(1);
  next();
  const binder::Changed changed{.mayBind = true, .groups = {{IommuGroupId(3), group(1), {}}}};
  const auto told = turns_.take(encode(binder::FromBinder(changed)));
  ASSERT_TRUE(told);
  EXPECT_EQ(**told, changed);
  EXPECT_TRUE(turns_.take(answer(1)));
}

TEST_F(BinderTurnsTest, RefusesAnAnswerToNothingAndWhatIsNoMessage) {
  EXPECT_FALSE(turns_.take(answer(1)));
  auto waiting = bind(1);
  EXPECT_FALSE(turns_.take(answer(1))) << "it is not on its way yet";
  next();
  EXPECT_FALSE(turns_.take(answer(2)));
  EXPECT_FALSE(turns_.take("nonsense"));
  EXPECT_TRUE(turns_.take(answer(1)));
  EXPECT_FALSE(turns_.take(answer(1))) << "it has its answer";
}

TEST_F(BinderTurnsTest, TheEndFailsWhatIsOnItsWayAndWhatWaits) {
  auto first = bind(1);
  auto second = bind(1);
  next();
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd-binder is away"));
  EXPECT_ANY_THROW(first.wait(io_.waitScope));
  EXPECT_ANY_THROW(second.wait(io_.waitScope));
  EXPECT_EQ(next(), std::nullopt);
}

/// Whatever the order of questions and answers: never more than eight, never two of one group, and
/// each question is asked once.
TEST_F(BinderTurnsTest, RandomQuestionsAndAnswersKeepTheRules) {
  std::minstd_rand random(31);
  std::vector<kj::Promise<Answer>> asked;
  std::map<std::uint32_t, std::vector<Bdf>> running;
  std::size_t sent = 0;
  for (int round = 0; round < 4'000; ++round) {
    if (random() % 2 == 0) asked.push_back(bind(static_cast<std::uint8_t>(random() % 20)));
    while (const auto packet = turns_.next()) {
      const auto request = std::get<binder::Bind>(*binder::decodeRequest(*packet));
      for (const auto& [number, members] : running) ASSERT_NE(members, request.members) << round;
      ASSERT_TRUE(running.emplace(request.number, request.members).second);
      ++sent;
    }
    ASSERT_LE(running.size(), binder::kMostInFlight);
    if (running.empty() || random() % 2 == 0) continue;
    const auto done = std::next(running.begin(), static_cast<long>(random() % running.size()));
    ASSERT_TRUE(turns_.take(answer(done->first)));
    running.erase(done);
  }
  while (!running.empty()) {
    ASSERT_TRUE(turns_.take(answer(running.begin()->first)));
    running.erase(running.begin());
    while (const auto number = next()) {
      running.emplace(*number, std::vector<Bdf>());
      ++sent;
    }
  }
  EXPECT_EQ(sent, asked.size());
  for (auto& one : asked) EXPECT_TRUE(one.poll(io_.waitScope));
}

}  // namespace
}  // namespace vfiogate
