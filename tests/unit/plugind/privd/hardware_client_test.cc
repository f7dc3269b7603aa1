// What privd's hardware process has told goes to the client of its connection, and to nobody after
// that.

#include "plugind/privd/hardware_client.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include "tests/support/hardware.h"
#include "tests/support/played/silent_events.h"

namespace vfiogate {
namespace {

class Subscribed final : public schema::Subscription::Server {};

/// Keeps the observer, and tells it nothing.
class SilentSession final : public schema::Session::Server {
public:
  explicit SilentSession(kj::Maybe<schema::Observer::Client>& observer) : observer_(observer) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    observer_ = context.getParams().getObserver();
    context.getResults().setSubscription(kj::heap<Subscribed>());
    return kj::READY_NOW;
  }

private:
  kj::Maybe<schema::Observer::Client>& observer_;
};

class HardwareClientTest : public testing::Test {
protected:
  ~HardwareClientTest() noexcept override = default;

  void SetUp() override {
    calls_.begin(kj::heap<SilentSession>(observer_));
    client_ = kj::heap<HardwareClient>(events_, calls_, bindings_, io_.provider->getTimer());
    client_->subscribe().wait(io_.waitScope);
  }
  /// Sent, and not carried out yet.
  kj::Promise<void> tell() {
    test::Hardware hardware;
    hardware.add("0000:01:00.0", 12);
    auto request = KJ_ASSERT_NONNULL(observer_).changedRequest();
    encode(Update{1, 1, hardware.snapshot()}, request.initUpdate(), noControl);
    return request.send().ignoreResult();
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
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

}  // namespace
}  // namespace vfiogate
