#include "ipc/base/line_allowance.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int told(LineAllowance& allowance, LineAllowance::Time now, int times) {
  int count = 0;
  for (int i = 0; i < times; ++i) count += allowance.take(now) ? 1 : 0;
  return count;
}

TEST(LineAllowance, IsALargeBurstAndThenTenASecond) {
  LineAllowance allowance;
  LineAllowance::Time now{seconds{1000}};
  EXPECT_EQ(told(allowance, now, 163'058), 256);
  EXPECT_EQ(told(allowance, now + seconds{1}, 1000), 10);
  EXPECT_EQ(told(allowance, now + seconds{1} + milliseconds{99}, 1000), 0);
  EXPECT_EQ(told(allowance, now + seconds{1} + milliseconds{100}, 1000), 1);
}

TEST(LineAllowance, IsWholeAgainAfterAQuietTimeAndNoMore) {
  LineAllowance allowance;
  const LineAllowance::Time now{seconds{1000}};
  told(allowance, now, 1000);
  EXPECT_EQ(told(allowance, now + seconds{3600}, 1000), 256);
}

TEST(LineAllowance, CountsWhatItKeptBackOnce) {
  LineAllowance allowance;
  const LineAllowance::Time now{seconds{1000}};
  told(allowance, now, 1000);
  EXPECT_EQ(allowance.takeLeftOut(), 744U);
  EXPECT_EQ(allowance.takeLeftOut(), 0U);
  allowance.leaveOut(1);
  EXPECT_EQ(allowance.takeLeftOut(), 1U);
}

}  // namespace
}  // namespace vfiogate
