#include "sim/kubelet/base/rate_limit.h"

#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;

TEST(RateLimit, K22_AllowsABurstAndThenTheRate) {
  RateLimit::TimePoint now;
  RateLimit limit(100, 10, now);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limit.allow(now));
  EXPECT_FALSE(limit.allow(now));
  now += milliseconds(10);
  EXPECT_TRUE(limit.allow(now));
  EXPECT_FALSE(limit.allow(now));
}

TEST(RateLimit, K22_SavesNoMoreThanTheBurst) {
  RateLimit::TimePoint now;
  RateLimit limit(100, 10, now);
  now += std::chrono::hours(1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limit.allow(now));
  EXPECT_FALSE(limit.allow(now));
}

}  // namespace
}  // namespace vfiogate::sim
