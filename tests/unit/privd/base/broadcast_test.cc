#include "privd/base/broadcast.h"

#include "tests/support/seen/live_heap.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(Broadcast, WakesEverybodyWhoWaits) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Broadcast broadcast;
  auto one = broadcast.next();
  auto other = broadcast.next();
  EXPECT_FALSE(one.poll(scope));
  broadcast.notify();
  EXPECT_TRUE(one.poll(scope));
  EXPECT_TRUE(other.poll(scope));
}

TEST(Broadcast, NotifiesThoseToComeOnlyAgain) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Broadcast broadcast;
  broadcast.notify();
  auto late = broadcast.next();
  EXPECT_FALSE(late.poll(scope));
  broadcast.notify();
  EXPECT_TRUE(late.poll(scope));
}

TEST(Broadcast, I10_WhoStopsWaitingLeavesNothingBehind) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Broadcast broadcast;
  const std::size_t before = liveHeapBytes();
  for (int i = 0; i < 10'000; ++i) broadcast.next().poll(scope);
  EXPECT_LT(liveHeapBytes(), before + 16'384);
}

}  // namespace
}  // namespace vfiogate
