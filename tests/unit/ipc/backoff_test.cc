#include "ipc/base/backoff.h"

#include <gtest/gtest.h>

#include <chrono>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheCap) {
  Backoff<milliseconds> backoff({milliseconds(100), milliseconds(350)});
  EXPECT_EQ(backoff.next(0), milliseconds(50));
  EXPECT_EQ(backoff.next(0), milliseconds(100));
  EXPECT_EQ(backoff.next(0), milliseconds(175));
  EXPECT_EQ(backoff.next(0), milliseconds(175));
}

TEST(Backoff, DrawsBetweenHalfAndWhole) {
  Backoff<milliseconds> low({milliseconds(1000), milliseconds(1000)});
  Backoff<milliseconds> high = low;
  EXPECT_EQ(low.next(0), milliseconds(500));
  EXPECT_EQ(high.next(0.999), milliseconds(999));
}

TEST(Backoff, IsTheWholePauseWithoutADraw) {
  Backoff<milliseconds> backoff({milliseconds(100), milliseconds(350)});
  EXPECT_FALSE(backoff.hasFailed());
  EXPECT_EQ(backoff.next(), milliseconds(100));
  EXPECT_TRUE(backoff.hasFailed());
  EXPECT_EQ(backoff.next(), milliseconds(200));
  EXPECT_EQ(backoff.next(), milliseconds(350));
}

TEST(Backoff, StartsAnewAfterReset) {
  Backoff<milliseconds> backoff({milliseconds(100), milliseconds(10'000)});
  for (int i = 0; i < 20; ++i) EXPECT_LE(backoff.next(0.5), milliseconds(10'000));
  backoff.reset();
  EXPECT_FALSE(backoff.hasFailed());
  EXPECT_EQ(backoff.next(0), milliseconds(50));
}

}  // namespace
}  // namespace vfiogate
