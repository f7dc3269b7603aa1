#include "privd/holds.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

const Bdf kA = *Bdf::parse("0000:01:00.0");
const Bdf kB = *Bdf::parse("0000:01:00.1");
const Bdf kC = *Bdf::parse("0000:02:00.0");

TEST(Holds, HoldUntilDropped) {
  Holds holds;
  const auto session = holds.newClaimant();
  EXPECT_FALSE(holds.anyOf({kA, kB}));
  holds.hold({kA, kB}, session);
  holds.hold({kA, kB}, session);
  EXPECT_TRUE(holds.anyOf({kA, kB}));
  EXPECT_FALSE(holds.anyOf({kC}));
  holds.drop({kA, kB});
  holds.drop({kA, kB});
  EXPECT_FALSE(holds.anyOf({kA, kB}));
}

TEST(Holds, FollowAddressesIntoWhicheverGroupTheyGo) {
  Holds holds;
  holds.hold({kA, kB}, holds.newClaimant());
  EXPECT_TRUE(holds.anyOf({kB, kC})) << "one member of it is held";
  holds.drop({kB, kC});
  EXPECT_TRUE(holds.anyOf({kA}));
}

TEST(Holds, OutliveTheSessionUntilAnotherIsAdopted) {
  Holds holds;
  holds.hold({kA}, holds.newClaimant());
  holds.hold({kC}, holds.newClaimant());
  const auto now = holds.newClaimant();
  holds.hold({kC}, now);
  EXPECT_TRUE(holds.anyOf({kA}));
  holds.keepOnly(now);
  holds.keepOnly(now);
  EXPECT_FALSE(holds.anyOf({kA}));
  EXPECT_TRUE(holds.anyOf({kC}));
}

TEST(Holds, AreDroppedByWhicheverSessionSaysSo) {
  Holds holds;
  holds.hold({kA}, holds.newClaimant());
  holds.newClaimant();
  holds.drop({kA});
  EXPECT_FALSE(holds.anyOf({kA}));
}

}  // namespace
}  // namespace vfiogate
