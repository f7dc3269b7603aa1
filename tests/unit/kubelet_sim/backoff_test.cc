#include "sim/kubelet/base/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, K23_DoublesFromHalfASecondToTwoMinutes) {
  const WatchLimits limits;
  Backoff backoff(limits.firstRetry, limits.longestRetry);
  std::vector<long> pauses;
  for (int i = 0; i < 10; ++i) {
    backoff.failed({});
    pauses.push_back(backoff.pause().count());
  }
  EXPECT_EQ(pauses,
            (std::vector<long>{500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000}));
}

TEST(Backoff, K23_OnlyASuccessResetsIt) {
  Backoff backoff(milliseconds(500), milliseconds(122'000));
  Backoff::TimePoint now;
  EXPECT_TRUE(backoff.mayTry(now));
  backoff.failed(now);
  EXPECT_FALSE(backoff.mayTry(now + milliseconds(500))) << "more than the pause, not as much";
  EXPECT_TRUE(backoff.mayTry(now + milliseconds(501)));
  backoff.failed(now);
  EXPECT_FALSE(backoff.mayTry(now + milliseconds(501)));
  backoff.succeeded();
  EXPECT_TRUE(backoff.mayTry(now));
  backoff.failed(now);
  EXPECT_EQ(backoff.pause(), milliseconds(500));
}

}  // namespace
}  // namespace vfiogate::sim
