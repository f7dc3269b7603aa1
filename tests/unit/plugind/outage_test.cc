#include "plugind/outage.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(Outage, AtTheStartNothingMayBeLent) {
  const Outage outage;
  EXPECT_TRUE(outage.away());
  EXPECT_EQ(outage.lending(), Lending::kClosed);
}

TEST(Outage, FramesStandUntilItIsClosed) {
  Outage outage;
  outage.end();
  EXPECT_EQ(outage.lending(), Lending::kOpen);
  outage.begin();
  EXPECT_TRUE(outage.away());
  EXPECT_EQ(outage.lending(), Lending::kOpen);
  outage.close();
  EXPECT_EQ(outage.lending(), Lending::kClosed);
  outage.end();
  EXPECT_EQ(outage.lending(), Lending::kOpen);
}

TEST(Outage, OneCallerMayWaitInEach) {
  Outage outage;
  outage.end();
  EXPECT_FALSE(outage.mayWait()) << "nothing to wait for";
  for (int i = 0; i < 2; ++i) {
    outage.begin();
    EXPECT_TRUE(outage.mayWait());
    EXPECT_FALSE(outage.mayWait());
    outage.end();
  }
}

}  // namespace
}  // namespace vfiogate
