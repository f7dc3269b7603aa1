#include "privd/base/bell.h"

#include "tests/support/seen/live_heap.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(Bell, WakesEverybodyWhoWaits) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Bell bell;
  auto one = bell.next();
  auto other = bell.next();
  EXPECT_FALSE(one.poll(scope));
  bell.ring();
  EXPECT_TRUE(one.poll(scope));
  EXPECT_TRUE(other.poll(scope));
}

TEST(Bell, RingsForThoseToComeOnlyAgain) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Bell bell;
  bell.ring();
  auto late = bell.next();
  EXPECT_FALSE(late.poll(scope));
  bell.ring();
  EXPECT_TRUE(late.poll(scope));
}

TEST(Bell, I10_WhoStopsWaitingLeavesNothingBehind) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Bell bell;
  const std::size_t before = liveHeapBytes();
  for (int i = 0; i < 10'000; ++i) bell.next().poll(scope);
  EXPECT_LT(liveHeapBytes(), before + 16'384);
}

}  // namespace
}  // namespace vfiogate
