// What `plugind status` and `plugind explain` are told.

#include "plugind/core/status/explanation.h"

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;
using testing::Contains;
using testing::HasSubstr;

class StatusOf : public LedgerCase {
protected:
  PluginStatus status() const { return statusOf(node.ledger.state(), {}); }
  Explanation explained(const char* address) const {
    return explain(node.settings, node.ledger.state(), *Bdf::parse(address));
  }
};

TEST_F(StatusOf, TellsEachDevicesHolderSinceReferenceHardwareAndLastRefusal) {
  node.start();
  hold("p1", "gpu", {kA});
  ASSERT_EQ(node.allocate("other", {kB}), "group-allocated");
  const auto told = status();
  ASSERT_EQ(told.resources.size(), 2U);
  EXPECT_EQ(told.resources[0].name, test::resource("gpu"));
  ASSERT_EQ(told.resources[0].devices.size(), 2U);
  const DeviceStatus& a = told.resources[0].devices[0];
  EXPECT_EQ(a.address.str(), kA);
  EXPECT_EQ(a.model, "10de:2684");
  EXPECT_EQ(a.hardware, "ready");
  EXPECT_TRUE(a.shown && a.healthy);
  EXPECT_EQ(a.group.group, IommuGroupId(31));
  EXPECT_EQ(a.group.holding, Holding::kAllocated);
  ASSERT_EQ(a.group.holders.size(), 1U);
  EXPECT_EQ(a.group.holders[0].ref.str(), "7f3a");
  EXPECT_EQ(a.group.holders[0].podUid, "p1");
  EXPECT_EQ(told.resources[0].devices[1].group.holding, Holding::kFree);
  const DeviceStatus& b = told.resources[1].devices[0];
  EXPECT_FALSE(b.healthy);
  ASSERT_TRUE(b.lastRefusal);
  EXPECT_EQ(b.lastRefusal->refusal.reason, "group-allocated");
  EXPECT_THAT(b.lastRefusal->refusal.text, HasSubstr("ref=7f3a"));
}

TEST_F(StatusOf, SaysWhatADeviceWithoutAnIommuMeans) {
  node.hardware.group(31).noIommu = true;
  node.start();
  EXPECT_EQ(explained(kA).reason, "no-iommu");
  node.settings.resources[0].allocation.backend = Backend::kNoIommu;
  node.see();
  EXPECT_THAT(explained(kA).lines,
              Contains("backend noiommu: whoever has it reads and writes all memory of the node"));
}

TEST_F(StatusOf, KeepsAHolderWhoseHardwareIsGone) {
  node.start();
  hold("p1", "gpu", {kA});
  node.hardware.remove(kA);
  node.hardware.remove(kB);
  node.see();
  const auto told = status();
  ASSERT_EQ(told.gone.size(), 1U);
  EXPECT_EQ(told.gone[0].holders[0].ref.str(), "7f3a");
  const DeviceStatus& a = told.resources[0].devices[0];
  EXPECT_EQ(a.hardware, "gone");
  EXPECT_TRUE(a.shown && !a.healthy);
}

TEST_F(StatusOf, SaysWhetherPrivdIsThereAndAdoptionDone) {
  EXPECT_FALSE(status().privdThere || status().allocationOpen);
  node.start(false);
  EXPECT_TRUE(status().privdThere && status().begun && status().allocationOpen);
  EXPECT_FALSE(status().adopted);
  node.pass(timing::kAdoptionWait + std::chrono::seconds(1));
  EXPECT_TRUE(status().adopted);
  node.run(node.ledger.privdWent(node.now));
  EXPECT_FALSE(status().privdThere);
  EXPECT_EQ(status().privdAwaySince, node.now.instant);
  EXPECT_FALSE(status().allocationOpen) << "an Allocate would be refused now, or wait";
}

TEST_F(StatusOf, ExplainSaysWhichEntryTookADeviceAndThatItIsOffered) {
  node.start();
  const auto told = explained(kC);
  EXPECT_EQ(told.reason, "offered");
  EXPECT_EQ(told.resource, test::resource("gpu"));
  EXPECT_THAT(told.lines, Contains(HasSubstr("selected by resources[0]")));
  EXPECT_THAT(told.lines, Contains("IOMMU group 32: 0000:02:00.0"));
}

TEST_F(StatusOf, ExplainSaysWhyADeviceIsNotOffered) {
  node.settings.exclude.push_back(*Selector::parse("address=0000:02:00.0"));
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.start();
  EXPECT_EQ(explained(kC).reason, "excluded");
  EXPECT_THAT(explained(kC).lines, Contains(HasSubstr("matches exclude[0]")));
  EXPECT_EQ(explained(kB).reason, "represented");
  EXPECT_THAT(explained(kB).lines, Contains(HasSubstr("0000:01:00.0 stands for its group")));
  EXPECT_EQ(explained("0000:7f:00.0").reason, "gone");
  hold("p1", "gpu", {kA});
  EXPECT_EQ(explained(kA).reason, "offered") << "the kubelet goes on seeing what is held";
  EXPECT_THAT(explained(kA).lines,
              Contains(HasSubstr("allocated; vfiogate.dev/gpu to a pod that")));
  EXPECT_EQ(explained(kB).reason, "group-allocated");
}

TEST_F(StatusOf, ExplainNamesTheDriverOfTheHostThatIsInTheWay) {
  node.hardware.device(kC).driver = "nouveau";
  node.hardware.device(kC).vfioDev.reset();
  node.start();
  EXPECT_EQ(explained(kC).reason, "host-driver");
  EXPECT_THAT(explained(kC).lines, Contains(HasSubstr("nouveau")));
}

}  // namespace
}  // namespace vfiogate
