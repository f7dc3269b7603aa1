// The writes of a change, over many kinds of hardware.

#include "privd/bind/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/privd/bind/topologies.h"

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string brief(const SysfsWrite& write) {
  std::string attribute = write.attribute.substr(std::string("bus/pci/").size());
  return (write.text == "\n" ? "\\n" : write.text) + " > " + attribute;
}

std::vector<std::string> writesOf(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Step& step : plan.steps) lines.push_back(brief(step.write));
  return lines;
}

/// As a plan is undone: the steps in reverse, each with its own order.
std::vector<std::string> undoOf(const Plan& plan) {
  std::vector<std::string> lines;
  for (std::size_t i = plan.steps.size(); i-- > 0;) {
    for (const SysfsWrite& write : plan.steps[i].undo) lines.push_back(brief(write));
  }
  return lines;
}

std::map<Bdf, std::string> allOn(const Topology& topology, const char* driver) {
  std::map<Bdf, std::string> drivers;
  for (const auto& [address, device] : topology.snapshot.devices) drivers[address] = driver;
  return drivers;
}

Plan bindOf(const Topology& topology, unsigned group, const char* named,
            const Overrides& overrides = {}) {
  return planBind(topology.snapshot, topology.group(group), {at(named)},
                  allOn(topology, "vfio-pci"), overrides);
}

TEST(PlanOfABind, TakesEveryEndpointOfTheGroupOffItsHostDriver) {
  const Plan plan = bindOf(laptop(), 12, "0000:01:00.0");
  EXPECT_THAT(writesOf(plan), ElementsAre("0000:01:00.0 > drivers/nouveau/unbind",
                                          "vfio-pci > devices/0000:01:00.0/driver_override",
                                          "0000:01:00.0 > drivers/vfio-pci/bind",
                                          "0000:01:00.1 > drivers/snd_hda_intel/unbind",
                                          "vfio-pci > devices/0000:01:00.1/driver_override",
                                          "0000:01:00.1 > drivers/vfio-pci/bind"));
  EXPECT_THAT(plan.leftAlone, IsEmpty());
}

TEST(PlanOfABind, I8_ItsUndoRestoresTheOverrideBeforeTheOldDriver) {
  EXPECT_THAT(
      undoOf(bindOf(laptop(), 12, "0000:01:00.0", {{at("0000:01:00.1"), "former"}})),
      ElementsAre(
          "0000:01:00.1 > drivers/vfio-pci/unbind", "former > devices/0000:01:00.1/driver_override",
          "0000:01:00.1 > drivers/snd_hda_intel/bind", "0000:01:00.0 > drivers/vfio-pci/unbind",
          "\\n > devices/0000:01:00.0/driver_override", "0000:01:00.0 > drivers/nouveau/bind"));
}

TEST(PlanOfABind, SaysWhyItLeavesBridgesAndDriverlessMembersAlone) {
  const Plan plan = bindOf(behindBridge(), 14, "0000:06:00.0");
  EXPECT_THAT(writesOf(plan), ElementsAre("0000:06:00.0 > drivers/e1000e/unbind",
                                          "vfio-pci > devices/0000:06:00.0/driver_override",
                                          "0000:06:00.0 > drivers/vfio-pci/bind"));
  ASSERT_EQ(plan.leftAlone.size(), 2U);
  EXPECT_EQ(plan.leftAlone[0].address, at("0000:00:1c.0"));
  EXPECT_THAT(plan.leftAlone[0].why, HasSubstr("bridge"));
  EXPECT_EQ(plan.leftAlone[1].address, at("0000:07:00.0"));
  EXPECT_THAT(plan.leftAlone[1].why, HasSubstr("without a driver"));
}

TEST(PlanOfABind, BindsADriverlessFunctionThatIsNamed) {
  EXPECT_THAT(writesOf(bindOf(behindBridge(), 14, "0000:07:00.0")),
              ElementsAre("0000:06:00.0 > drivers/e1000e/unbind",
                          "vfio-pci > devices/0000:06:00.0/driver_override",
                          "0000:06:00.0 > drivers/vfio-pci/bind",
                          "vfio-pci > devices/0000:07:00.0/driver_override",
                          "0000:07:00.0 > drivers/vfio-pci/bind"));
}

TEST(PlanOfABind, AnNvSwitchIsAnEndpoint) {
  EXPECT_THAT(writesOf(bindOf(nvSwitch(), 40, "0000:41:00.0")),
              ElementsAre("0000:41:00.0 > drivers/nvidia-nvswitch/unbind",
                          "vfio-pci > devices/0000:41:00.0/driver_override",
                          "0000:41:00.0 > drivers/vfio-pci/bind"));
}

TEST(PlanOfABind, WhatIsSoAlreadyNeedsNoWrite) {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "vfio-pci", 12);
  EXPECT_THAT(bindOf(one, 12, "0000:01:00.0", {{at("0000:01:00.0"), "vfio-pci"}}).steps, IsEmpty());
  EXPECT_THAT(writesOf(bindOf(one, 12, "0000:01:00.0")),
              ElementsAre("vfio-pci > devices/0000:01:00.0/driver_override"))
      << "without it a host driver that is loaded later may take the device after a rescan";
}

TEST(PlanOfABind, AVfioDriverOfAnotherKindStaysUnlessItsDeviceIsNamed) {
  Topology one;
  one.add("0000:01:00.0", 0x020000, "mlx5_vfio_pci", 12);
  one.add("0000:01:00.1", 0x020000, "mlx5_vfio_pci", 12);
  EXPECT_THAT(writesOf(bindOf(one, 12, "0000:01:00.1")),
              ElementsAre("0000:01:00.1 > drivers/mlx5_vfio_pci/unbind",
                          "vfio-pci > devices/0000:01:00.1/driver_override",
                          "0000:01:00.1 > drivers/vfio-pci/bind"));
}

TEST(PlanOfABind, PciStubHoldsADeviceForNobody) {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "nouveau", 12);
  one.add("0000:01:00.1", 0x040300, "pci-stub", 12);
  EXPECT_THAT(writesOf(bindOf(one, 12, "0000:01:00.0")), testing::SizeIs(3));
}

TEST(PlanOfABind, OnlyWritesThatTakeADeviceFromVfioNeedItsNodeHeld) {
  for (const Step& step : bindOf(laptop(), 12, "0000:01:00.0").steps) {
    EXPECT_FALSE(step.fromVfio) << brief(step.write);
  }
}

/// Both functions of the laptop's GPU on VFIO.
Topology boundLaptop() {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "vfio-pci", 12);
  one.add("0000:01:00.1", 0x040300, "vfio-pci", 12);
  return one;
}

BoundDevice recordOf(const char* address, const char* driver, const char* overridden = "") {
  return {.device = {at(address), 0x10de, 0x2684},
          .driver = "vfio-pci",
          .formerDriver = driver,
          .formerOverride = overridden};
}

Plan unbindOf(const Topology& topology, std::set<Bdf> wanted, std::map<Bdf, Former> former) {
  for (const auto& [address, device] : topology.snapshot.devices) former[address];
  Overrides overrides;
  for (const auto& [address, device] : topology.snapshot.devices) overrides[address] = "vfio-pci";
  return planUnbind(topology.snapshot, topology.group(12), wanted, former, overrides);
}

TEST(PlanOfAnUnbind, RestoresFormerDriverAndOverride) {
  const Plan plan = unbindOf(
      boundLaptop(), {at("0000:01:00.0"), at("0000:01:00.1")},
      {{at("0000:01:00.0"), {recordOf("0000:01:00.0", "nouveau"), true, true}},
       {at("0000:01:00.1"), {recordOf("0000:01:00.1", "snd_hda_intel", "x"), true, true}}});
  EXPECT_THAT(writesOf(plan), ElementsAre("0000:01:00.0 > drivers/vfio-pci/unbind",
                                          "\\n > devices/0000:01:00.0/driver_override",
                                          "0000:01:00.0 > drivers/nouveau/bind",
                                          "0000:01:00.1 > drivers/vfio-pci/unbind",
                                          "x > devices/0000:01:00.1/driver_override",
                                          "0000:01:00.1 > drivers/snd_hda_intel/bind"));
  EXPECT_TRUE(plan.steps[0].fromVfio);
  EXPECT_THAT(plan.remarks, IsEmpty());
}

struct ReturnCase {
  const char* name;
  Former former;
  std::vector<std::string> last;  ///< writes after the device has left VFIO
  const char* remark;
};

class ReturnOf : public testing::TestWithParam<ReturnCase> {};

TEST_P(ReturnOf, ADeviceGoesWhereItSensiblyCan) {
  const Plan plan =
      unbindOf(boundLaptop(), {at("0000:01:00.0")}, {{at("0000:01:00.0"), GetParam().former}});
  auto writes = writesOf(plan);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0], "0000:01:00.0 > drivers/vfio-pci/unbind");
  writes.erase(writes.begin());
  EXPECT_EQ(writes, GetParam().last);
  std::string remarks;
  for (const std::string& remark : plan.remarks) remarks += remark;
  EXPECT_THAT(remarks, HasSubstr(GetParam().remark));
  EXPECT_EQ(remarks.empty(), *GetParam().remark == '\0');
  ASSERT_EQ(plan.leftAlone.size(), 1U);
  EXPECT_THAT(plan.leftAlone[0].why, HasSubstr("not asked for"));
}

const std::vector<std::string> kByTheKernel{"\\n > devices/0000:01:00.0/driver_override",
                                            "0000:01:00.0 > drivers_probe"};
INSTANTIATE_TEST_SUITE_P(
    Table, ReturnOf,
    testing::Values(ReturnCase{"NeverBoundByUs", {}, kByTheKernel, "privd did not bind it"},
                    ReturnCase{"AfterAReboot",
                               {recordOf("0000:01:00.0", "nouveau"), false, true},
                               kByTheKernel,
                               "another boot"},
                    ReturnCase{"DriverGone",
                               {recordOf("0000:01:00.0", "nouveau"), true, false},
                               kByTheKernel,
                               "nouveau is not loaded"},
                    ReturnCase{"HadNoDriver",
                               {recordOf("0000:01:00.0", ""), true, false},
                               {"\\n > devices/0000:01:00.0/driver_override"},
                               "had no driver"},
                    ReturnCase{"HadAnOverride",
                               {recordOf("0000:01:00.0", "nouveau", "nouveau"), true, true},
                               {"nouveau > devices/0000:01:00.0/driver_override",
                                "0000:01:00.0 > drivers/nouveau/bind"},
                               ""}),
    [](const auto& told) { return std::string(told.param.name); });

TEST(PlanOfAnUnbind, WhatIsNotOnVfioIsLeftAlone) {
  const Plan plan = planUnbind(laptop().snapshot, laptop().group(12), {at("0000:01:00.0")},
                               {{at("0000:01:00.0"), {}}, {at("0000:01:00.1"), {}}}, {});
  EXPECT_THAT(plan.steps, IsEmpty());
  EXPECT_THAT(plan.leftAlone[0].why, HasSubstr("nouveau"));
}

TEST(PlanOfAnUnbind, ABindThatWasKilledHalfwayIsTakenBack) {
  Topology one;
  one.add("0000:01:00.0", 0x030000, "", 12);
  EXPECT_THAT(
      writesOf(unbindOf(one, {at("0000:01:00.0")},
                        {{at("0000:01:00.0"), {recordOf("0000:01:00.0", "nouveau"), true, true}}})),
      ElementsAre("\\n > devices/0000:01:00.0/driver_override",
                  "0000:01:00.0 > drivers/nouveau/bind"));
}

TEST(Plan, NeverWritesNothing) {
  EXPECT_EQ(overrideText(""), "\n") << "a zero-length write never reaches the kernel";
  EXPECT_EQ(overrideText("vfio-pci"), "vfio-pci");
}

}  // namespace
}  // namespace vfiogate
