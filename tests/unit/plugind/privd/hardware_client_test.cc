// What privd's hardware process has told goes to the client of its connection, and to nobody after
// that.

#include "plugind/privd/hardware_client.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include "tests/support/hardware.h"
#include "tests/support/played/silent_events.h"

#include <utility>
#include <vector>

namespace vfiogate {
namespace {

class Subscribed final : public schema::Subscription::Server {};

/// Calls of a process that was stopped, until answerAll().
using Stopped = std::vector<kj::Own<kj::PromiseFulfiller<void>>>;

/// Keeps the observer, and tells it nothing.
class SilentSession final : public schema::Session::Server {
public:
  SilentSession(kj::Maybe<schema::Observer::Client>& observer, Stopped& stopped)
      : observer_(observer), stopped_(stopped) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    observer_ = context.getParams().getObserver();
    context.getResults().setSubscription(kj::heap<Subscribed>());
    return kj::READY_NOW;
  }

  kj::Promise<void> discovery(DiscoveryContext context) override {
    auto pair = kj::newPromiseAndFulfiller<void>();
    stopped_.push_back(kj::mv(pair.fulfiller));
    return pair.promise.then([context]() mutable { context.getResults().initCounts(1).set(0, 7); });
  }

private:
  kj::Maybe<schema::Observer::Client>& observer_;
  Stopped& stopped_;
};

class StoppedControl final : public schema::GroupControl::Server {
public:
  explicit StoppedControl(Stopped& stopped) : stopped_(stopped) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    auto pair = kj::newPromiseAndFulfiller<void>();
    stopped_.push_back(kj::mv(pair.fulfiller));
    return pair.promise.then(
        [context]() mutable { context.getResults().initAnswer().setVanished(); });
  }

private:
  Stopped& stopped_;
};

class HardwareClientTest : public testing::Test {
protected:
  ~HardwareClientTest() noexcept override = default;

  void SetUp() override {
    calls_.begin(kj::heap<SilentSession>(observer_, stopped_));
    client_ = kj::heap<HardwareClient>(events_, calls_, bindings_, timer_);
    client_->subscribe().wait(io_.waitScope);
  }
  /// Sent, and not carried out yet.
  kj::Promise<void> tell() {
    test::Hardware hardware;
    hardware.add("0000:01:00.0", 12);
    auto request = KJ_ASSERT_NONNULL(observer_).changedRequest();
    encode(Update{1, 1, hardware.snapshot()}, request.initUpdate(), [this](const IommuGroup&) {
      return kj::Maybe<schema::GroupControl::Client>(kj::heap<StoppedControl>(stopped_));
    });
    return request.send().ignoreResult();
  }
  void settle() { kj::Promise<void>(kj::NEVER_DONE).poll(io_.waitScope); }
  void pass(kj::Duration time) {
    settle();
    timer_.advanceTo(timer_.now() + time);
    settle();
  }
  void answerAll() {
    for (auto& call : std::exchange(stopped_, {})) call->fulfill();
    settle();
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  Stopped stopped_;
  test::SilentEvents events_;
  SessionCalls calls_;
  BindingView bindings_;
  kj::Maybe<schema::Observer::Client> observer_;
  kj::Own<HardwareClient> client_;
};

TEST_F(HardwareClientTest, AnUpdateIsTold) {
  tell().wait(io_.waitScope);
  EXPECT_EQ(events_.updates, 1U);
}

// Cap'n Proto does not cancel a call that has come when the connection ends: it is carried out on
// an observer that outlives the client.
TEST_F(HardwareClientTest, AnUpdateThatComesWithTheEndIsToldToNobody) {
  auto told = tell();
  client_ = nullptr;
  told.wait(io_.waitScope);
  EXPECT_EQ(events_.updates, 0U);
}

// Its socket stays open: nothing else shows that it does nothing any more.
TEST_F(HardwareClientTest, I3_ARereadThatIsNotAnsweredIn10sEndsTheConnection) {
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  auto reading = client_->reread(IommuGroupId(12));
  pass(9 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
  pass(1 * kj::SECONDS);
  ASSERT_TRUE(over.poll(io_.waitScope));
  EXPECT_EQ(over.wait(io_.waitScope), "privd-hardware does not answer");
  EXPECT_FALSE(reading.poll(io_.waitScope)) << "it fails with the connection";
  calls_.end();
  EXPECT_ANY_THROW(reading.wait(io_.waitScope));
}

TEST_F(HardwareClientTest, ARereadsTimeBeginsWhenItIsSent) {
  constexpr std::size_t kAtOnce = 8;
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  std::vector<kj::Promise<GroupReading>> readings;
  for (std::size_t i = 0; i <= kAtOnce; ++i) readings.push_back(client_->reread(IommuGroupId(12)));
  pass(9 * kj::SECONDS);
  ASSERT_EQ(stopped_.size(), kAtOnce);
  answerAll();
  ASSERT_EQ(stopped_.size(), 1U) << "there is a place";
  pass(9 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
  pass(1 * kj::SECONDS);
  EXPECT_TRUE(over.poll(io_.waitScope));
}

TEST_F(HardwareClientTest, AnAnswerInTimeEndsNothing) {
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  auto reading = client_->reread(IommuGroupId(12));
  pass(9 * kj::SECONDS);
  answerAll();
  EXPECT_EQ(reading.wait(io_.waitScope).answer, GroupReading::Answer::kVanished);
  pass(60 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
}

// The clock goes on while plugind itself is frozen, and the loop may see that before the answer
// that came meanwhile.
TEST_F(HardwareClientTest, AnAnswerThatCameWhileWeWereFrozenEndsNothing) {
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  auto reading = client_->reread(IommuGroupId(12));
  pass(60 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
  answerAll();
  EXPECT_EQ(reading.wait(io_.waitScope).answer, GroupReading::Answer::kVanished);
  EXPECT_FALSE(over.poll(io_.waitScope));
}

TEST_F(HardwareClientTest, WhatAChangeLeftIsShownAlsoWhereWeWereFrozenMeanwhile) {
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  auto shown = client_->untilShown(IommuGroupId(12));
  pass(60 * kj::SECONDS);
  answerAll();
  EXPECT_FALSE(over.poll(io_.waitScope));
  shown.wait(io_.waitScope);
}

TEST_F(HardwareClientTest, ASilenceThatGoesOnAfterWeWereFrozenEndsTheConnection) {
  tell().wait(io_.waitScope);
  auto over = calls_.over();
  auto reading = client_->reread(IommuGroupId(12));
  pass(60 * kj::SECONDS);
  pass(1 * kj::SECONDS);
  EXPECT_TRUE(over.poll(io_.waitScope));
}

// Each visitor of the metrics asks, and waits for a moment only.
TEST_F(HardwareClientTest, I3_CountsThatAreNotToldIn10sEndTheConnectionHoweverManyAskedForThem) {
  auto over = calls_.over();
  for (int visitor = 0; visitor < 20; ++visitor) {
    const auto asked = client_->discovery();
    settle();
  }
  EXPECT_EQ(stopped_.size(), 1U);
  pass(9 * kj::SECONDS);
  { const auto asked = client_->discovery(); }
  EXPECT_FALSE(over.poll(io_.waitScope));
  pass(1 * kj::SECONDS);
  ASSERT_TRUE(over.poll(io_.waitScope));
  EXPECT_EQ(over.wait(io_.waitScope), "privd-hardware does not answer");
}

TEST_F(HardwareClientTest, CountsGoToAllWhoWaitAndAreAskedForAnewAfterThat) {
  auto first = client_->discovery();
  auto second = client_->discovery();
  settle();
  answerAll();
  EXPECT_EQ(first.wait(io_.waitScope)[DiscoveryCount::kRereads], 7U);
  EXPECT_EQ(second.wait(io_.waitScope)[DiscoveryCount::kRereads], 7U);
  const auto third = client_->discovery();
  settle();
  EXPECT_EQ(stopped_.size(), 1U);
}

TEST_F(HardwareClientTest, CountsThatItFailedToTellAreAskedForAnew) {
  auto failed = client_->discovery();
  settle();
  for (auto& call : std::exchange(stopped_, {})) call->reject(KJ_EXCEPTION(FAILED, "it cannot"));
  EXPECT_ANY_THROW(failed.wait(io_.waitScope));
  auto again = client_->discovery();
  settle();
  answerAll();
  EXPECT_EQ(again.wait(io_.waitScope)[DiscoveryCount::kRereads], 7U);
}

}  // namespace
}  // namespace vfiogate
