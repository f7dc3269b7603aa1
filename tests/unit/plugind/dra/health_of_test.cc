#include "plugind/core/dra/device_health.h"

#include "tests/unit/plugind/dra/pool_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::kNameA;
using test::kNameB;
using test::kNameC;

class HealthOf : public test::PoolCase {
protected:
  DeviceHealth health(const std::string& name) const {
    for (const DeviceHealth& one : healthOf(node.ledger.state(), pool())) {
      if (one.device == name) return one;
    }
    ADD_FAILURE() << name << " is not in the frame";
    return {};
  }
};

TEST_F(HealthOf, NamesAllDevicesOfThePoolInTheirOrder) {
  node.start();
  HealthFrame want;
  for (const std::string& name : {kNameA, kNameB, kNameC}) {
    want.push_back({"node-1", name, DraHealth::kHealthy, ""});
  }
  EXPECT_EQ(healthOf(node.ledger.state(), pool()), want);
}

TEST_F(HealthOf, OfWhatAClaimHoldsIsGoodUntilItIsGoneOrDead) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.hardware.device(kA).driver = "nouveau";
  node.hardware.device(kA).vfioDev.reset();
  node.see();
  EXPECT_EQ(health(kNameA).health, DraHealth::kHealthy);
  EXPECT_EQ(health(kNameB).health, DraHealth::kUnhealthy);
  EXPECT_THAT(health(kNameB).message, testing::HasSubstr("nouveau"));
  node.hardware.device(kA).answers = false;
  node.see();
  EXPECT_EQ(health(kNameA).health, DraHealth::kUnhealthy);
  EXPECT_THAT(health(kNameA).message, testing::HasSubstr("all ones"));
  node.hardware.remove(kA);
  node.see();
  EXPECT_EQ(health(kNameA).health, DraHealth::kUnhealthy);
  EXPECT_THAT(health(kNameA).message, testing::HasSubstr("gone"));
}

TEST_F(HealthOf, IsUnknownOncePrivdIsAwayForLong) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.run(node.ledger.privdWent(node.now));
  EXPECT_EQ(health(kNameA).health, DraHealth::kHealthy);
  node.pass(61s);
  EXPECT_EQ(health(kNameA).health, DraHealth::kUnknown);
  EXPECT_THAT(health(kNameC).message, testing::HasSubstr("privd"));
  node.see();
  EXPECT_EQ(health(kNameA).health, DraHealth::kHealthy);
}

}  // namespace
}  // namespace vfiogate
