#include "plugind/core/resource/static_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ipc/base/hex.h"
#include "tests/support/hardware.h"
#include "tests/support/written_specs.h"

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;
using testing::IsEmpty;

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/gpu");
const ResourceName kNic = *ResourceName::parse("vfiogate.dev/nic");

class StaticSpecsTest : public testing::Test {
protected:
  StaticSpecsTest() {
    hardware_.add("0000:01:00.0", 12);
    hardware_.add("0000:01:00.1", 12);
    hardware_.add("0000:02:00.0", 13);
  }

  void offer(const ResourceName& name, const AllocationSettings& allocation,
             const std::vector<UnitId>& devices) {
    catalog_.resources.insert_or_assign(name, ResourceDevices{allocation, devices});
  }
  SpecPlan plan(const std::vector<HolderRecord>& records = {}, const SpecPlan& before = {}) {
    return planSpecs(catalog_, hardware_.snapshot(), records, before);
  }
  static HolderRecord holder(const ResourceName& name, const std::set<UnitId>& ids) {
    return {.resource = name,
            .ids = ids,
            .rest = {},
            .members = ids,
            .answeredAt = {},
            .ref = HolderRef(1),
            .claim = std::nullopt};
  }

  Hardware hardware_;
  ResourceCatalog catalog_;
};

TEST_F(StaticSpecsTest, AreWantedByResourcesThatNeedOne) {
  struct Row {
    AllocationSettings allocation;
    bool wanted;
  };
  const Row rows[] = {{{}, false},
                      {{.injectCdi = true}, true},
                      {{.kata = true}, true},
                      {{.injectCdi = true, .kata = true}, true}};
  for (const Row& row : rows) {
    offer(kGpu, row.allocation, {at("0000:01:00.0")});
    EXPECT_EQ(plan().specs.size(), row.wanted ? 1U : 0U)
        << "cdi " << row.allocation.injectCdi << " kata " << row.allocation.kata;
  }
}

TEST_F(StaticSpecsTest, NameAllDevicesOfTheResourceAndHowTheyAreReached) {
  offer(kGpu, {.backend = Backend::kLegacy, .groupUnit = GroupUnit::kWhole, .injectCdi = true},
        {at("0000:01:00.0"), at("0000:01:00.1")});
  const StaticSpec want{.resource = kGpu.str(),
                        .backend = Backend::kLegacy,
                        .wholeGroups = true,
                        .devices = {at("0000:01:00.0"), at("0000:01:00.1")}};
  EXPECT_THAT(plan().specs, ElementsAre(want));
}

TEST_F(StaticSpecsTest, AreAnotherPlanOnceADeviceHasAnotherNumber) {
  offer(kGpu, {.injectCdi = true}, {at("0000:02:00.0")});
  const SpecPlan before = plan();
  EXPECT_EQ(plan(), before);
  hardware_.regroup("0000:02:00.0", 40);
  EXPECT_NE(plan({}, before), before);
  EXPECT_EQ(plan({}, before).specs, before.specs);
}

TEST_F(StaticSpecsTest, KeepWhatIsHeldWhateverTheConfigurationSays) {
  offer(kGpu, {.injectCdi = true}, {at("0000:01:00.0"), at("0000:02:00.0")});
  const SpecPlan before = plan();
  EXPECT_FALSE(before.keepsForHolders);
  catalog_ = {};
  EXPECT_THAT(plan({}, before).specs, IsEmpty());
  const SpecPlan kept = plan({holder(kGpu, {at("0000:02:00.0")})}, before);
  ASSERT_EQ(kept.specs.size(), 1U);
  EXPECT_THAT(kept.specs[0].devices, ElementsAre(at("0000:02:00.0")));
  EXPECT_TRUE(kept.keepsForHolders);
  EXPECT_EQ(plan({holder(kGpu, {at("0000:02:00.0")})}, kept), kept) << "for as long as it is held";
  EXPECT_THAT(plan({}, kept).specs, IsEmpty());
}

TEST_F(StaticSpecsTest, ArentMadeForHoldersThatNeverHadOne) {
  EXPECT_THAT(plan({holder(kGpu, {at("0000:02:00.0")})}).specs, IsEmpty());
}

TEST_F(StaticSpecsTest, AreAsManyAsPrivdTakes) {
  for (std::uint32_t i = 0; i < kMostSpecs + 1; ++i) {
    offer(*ResourceName::parse("vfiogate.dev/r" + hexDigits(i, 4)), {.injectCdi = true},
          {at("0000:01:00.0")});
  }
  EXPECT_EQ(plan().specs.size(), kMostSpecs);
  EXPECT_THAT(plan().tooMany, ElementsAre(*ResourceName::parse("vfiogate.dev/r0040")));
}

TEST_F(StaticSpecsTest, HaveNoRoomForAResourceOfTooManyDevicesAndForOthersStill) {
  std::vector<UnitId> many;
  for (std::uint32_t i = 0; i < kMostSpecDevices; ++i)
    many.push_back(Bdf::make(i, 0, 0, 0).value());
  offer(kGpu, {.injectCdi = true}, {at("0000:01:00.0")});
  offer(kNic, {.injectCdi = true}, many);
  EXPECT_EQ(plan().specs.size(), 1U);
  EXPECT_THAT(plan().tooMany, ElementsAre(kNic));
}

TEST_F(StaticSpecsTest, BarWhatTheyDoNotNameAsItIs) {
  const std::vector<std::string> nodes{"/dev/vfio/vfio", "/dev/vfio/12"};
  const StaticSpecs good{{kGpu, {"", {{at("0000:01:00.0"), nodes}}}}};
  const StaticSpecs failed{{kGpu, {"No space left on device", {}}}};
  struct Row {
    const char* name;
    StaticSpecs specs;
    const char* device;
    std::vector<std::string> present;
    const char* says;  ///< null: nothing
  };
  const Row rows[] = {
      {"in place", good, "0000:01:00.0", nodes, nullptr},
      {"other nodes", good, "0000:01:00.0", {"/dev/vfio/vfio", "/dev/vfio/40"}, "other nodes"},
      {"left out", good, "0000:02:00.0", nodes, "does not name it"},
      {"failed", failed, "0000:01:00.0", nodes, "No space left"},
      {"not asked", {}, "0000:01:00.0", nodes, "not asked for yet"},
  };
  for (const Row& row : rows) {
    const auto bar = barFromSpec(row.specs, kGpu, at(row.device), row.present);
    EXPECT_EQ(bar.has_value(), row.says != nullptr) << row.name;
    if (!bar || row.says == nullptr) continue;
    EXPECT_EQ(bar->reason, "cdi") << row.name;
    EXPECT_THAT(bar->text, testing::HasSubstr(row.says)) << row.name;
  }
}

TEST_F(StaticSpecsTest, ComeBeforeARegistrationUnlessSomebodyHasADevice) {
  const StaticSpecs good{{kGpu, {}}};
  const StaticSpecs failed{{kGpu, {"no", {}}}};
  const Frame idle{{{"0000:01:00.0", false, std::nullopt}}};
  const Frame held{{{"0000:01:00.0", true, std::nullopt}}};
  const AllocationSettings cdi{.injectCdi = true};
  EXPECT_TRUE(mayRegister({}, kGpu, {}, idle));
  EXPECT_TRUE(mayRegister(good, kGpu, cdi, idle));
  EXPECT_FALSE(mayRegister(failed, kGpu, cdi, idle));
  EXPECT_FALSE(mayRegister({}, kGpu, cdi, idle));
  EXPECT_TRUE(mayRegister(failed, kGpu, cdi, held));
}

TEST(CdiName, IsResourceAndAddress) {
  EXPECT_EQ(cdiName(kGpu, at("0000:01:00.0")), "vfiogate.dev/gpu=0000:01:00.0");
}

}  // namespace
}  // namespace vfiogate
