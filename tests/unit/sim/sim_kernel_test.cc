// What can be read, and when: platform-facts.md 7.

#include "sim/sysfs/kernel/sim_kernel.h"

#include <gmock/gmock.h>

#include "sim/sysfs/kernel/hotplug.h"
#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGpu = "0000:01:00.0";

TEST(Enable, IsOneWhileTheDevicesDescriptorIsOpen) {
  Node61 node("one-gpu");
  node.giveToVfio(kGpu);
  node.unbind("0000:01:00.1", "snd_hda_intel");
  EXPECT_EQ(node.attribute(kGpu, "enable"), "0\n");
  EXPECT_EQ(node.kernel.change([](World& w) { return openGroup(w, 12, "vm"); }), 0);
  EXPECT_EQ(node.attribute(kGpu, "enable"), "0\n") << "the group alone does not show";
  EXPECT_EQ(node.open(kGpu), 0);
  EXPECT_EQ(node.attribute(kGpu, "enable"), "1\n");
  EXPECT_EQ(node.open(kGpu), 0);
  EXPECT_EQ(node.attribute(kGpu, "enable"), "1\n") << "stays 1 for more descriptors";
  EXPECT_EQ(node.attribute("0000:01:00.1", "enable"), "0\n") << "it is per device";
  node.close(kGpu);
  node.close(kGpu);
  EXPECT_EQ(node.attribute(kGpu, "enable"), "0\n");
}

TEST(Slots, SayWhatIsInThemAndGoWithTheirPorts) {
  Node61 node("slots");
  EXPECT_EQ(node.read("bus/pci/slots/4/address"), "0000:3b:00\n");
  EXPECT_EQ(node.read("bus/pci/slots/6/address"), "0000:71:00\n");
  EXPECT_NE(node.kernel.tree().find("sys/bus/pci/slots/8"), nullptr);
  EXPECT_EQ(node.kernel.tree().find("sys/bus/pci/slots/8/address"), nullptr);
  EXPECT_EQ(node.write("bus/pci/devices/0000:70:00.0/remove", "1"), 0);
  EXPECT_EQ(node.kernel.tree().find("sys/bus/pci/slots/6"), nullptr);
  EXPECT_NE(node.kernel.tree().find("sys/bus/pci/slots/4"), nullptr);
}

TEST(VitalData, HasTheSerialNumberAndIsRootsAlone) {
  Node61 node("slots");
  EXPECT_THAT(node.read("bus/pci/devices/0000:3b:00.0/vpd"), testing::HasSubstr("SN\x0d"
                                                                                "1324121001234"));
  const auto path = resolve(node.kernel.tree(), "sys/bus/pci/devices/0000:3b:00.0/vpd");
  ASSERT_TRUE(path);
  EXPECT_EQ(node.kernel.tree().find(*path)->mode, 0600U);
  EXPECT_FALSE(resolve(node.kernel.tree(), "sys/bus/pci/devices/0000:3b:00.1/vpd"));
}

TEST(GroupNode, IsAnExclusiveLock) {
  Node61 node("one-gpu");
  node.giveToVfio(kGpu);
  EXPECT_EQ(node.kernel.change([](World& w) { return openGroup(w, 12, "vm"); }), 0);
  EXPECT_EQ(node.kernel.change([](World& w) { return openGroup(w, 12, "vm"); }), EBUSY);
  EXPECT_EQ(node.kernel.change([](World& w) { return openGroup(w, 13, "vm"); }), ENOENT);
}

TEST(GroupNode, AppearsWithTheFirstMemberEvenIfNotViable) {
  Node61 node("one-gpu");
  EXPECT_FALSE(node.exists("dev/vfio/12"));
  EXPECT_TRUE(node.exists("dev/vfio/vfio"));
  node.giveToVfio(kGpu);
  EXPECT_TRUE(node.exists("dev/vfio/12"));
  EXPECT_EQ(node.open(kGpu), EPERM);
}

TEST(Unbind, OfADeviceInUseHangsWithTheLinkGoneAndEnableOne) {
  Node61 node("two-in-group");
  node.giveToVfio("0000:01:00.0");
  ASSERT_EQ(node.open("0000:01:00.0"), 0);
  ASSERT_EQ(node.unbind("0000:01:00.0", "vfio-pci"), kHangs);
  const TaskId unbind = node.lastWrite;
  EXPECT_EQ(node.driverOf("0000:01:00.0"), "");
  EXPECT_FALSE(node.exists("sys/bus/pci/drivers/vfio-pci/0000:01:00.0"));
  EXPECT_EQ(node.attribute("0000:01:00.0", "enable"), "1\n");
  EXPECT_TRUE(node.exists("dev/vfio/3"));
  EXPECT_THAT(node.kernel.waiting(), ElementsAre("write sys/bus/pci/drivers/vfio-pci/unbind "
                                                 "0000:01:00.0"));
  node.close("0000:01:00.0");
  EXPECT_EQ(node.end(unbind), 0);
  EXPECT_EQ(node.attribute("0000:01:00.0", "enable"), "0\n");
  EXPECT_FALSE(node.exists("dev/vfio/3"));
}

TEST(Unbind, OfAnOpenUnboundCdevHangsAlthoughNothingShowsIt) {
  Topology topology = shippedTopology("one-gpu");
  topology.cdev = true;
  Node61 node(topology);
  node.giveToVfio(kGpu);
  node.kernel.change([](World& w) { return openCdev(w, at(kGpu)); });
  EXPECT_EQ(node.attribute(kGpu, "enable"), "0\n");
  EXPECT_EQ(node.unbind(kGpu, "vfio-pci"), kHangs);
}

TEST(Bind, ThatWaitedForAnUnbindGoesOnAfterIt) {
  Node61 node("two-in-group");
  node.giveToVfio("0000:01:00.0");
  node.open("0000:01:00.0");
  node.unbind("0000:01:00.0", "vfio-pci");
  ASSERT_EQ(node.bind("0000:01:00.0", "vfio-pci"), kHangs);
  const TaskId bind = node.lastWrite;
  node.close("0000:01:00.0");
  EXPECT_EQ(node.end(bind), 0);
  EXPECT_EQ(node.driverOf("0000:01:00.0"), "vfio-pci");
  EXPECT_THAT(node.kernel.waiting(), IsEmpty());
}

struct Reading {
  const char* attribute;
  bool hangsOn61;
};

class WhileAnUnbindHangs : public testing::TestWithParam<Reading> {};

TEST_P(WhileAnUnbindHangs, AttributesReadAsMeasured) {
  for (const bool kernel61 : {true, false}) {
    Topology topology = shippedTopology("two-in-group");
    topology.readsWaitForUnbind = kernel61;
    Node61 node(topology);
    node.giveToVfio("0000:01:00.0");
    node.open("0000:01:00.0");
    ASSERT_EQ(node.unbind("0000:01:00.0", "vfio-pci"), kHangs);
    const bool hangs = node.attribute("0000:01:00.0", GetParam().attribute) == "hangs";
    EXPECT_EQ(hangs, kernel61 && GetParam().hangsOn61) << "6.1: " << kernel61;
  }
}

INSTANTIATE_TEST_SUITE_P(Facts, WhileAnUnbindHangs,
                         testing::Values(Reading{"uevent", true}, Reading{"driver_override", true},
                                         Reading{"vendor", false}, Reading{"device", false},
                                         Reading{"class", false}, Reading{"config", false},
                                         Reading{"resource", false}, Reading{"numa_node", false},
                                         Reading{"enable", false}, Reading{"modalias", false},
                                         Reading{"iommu_group/type", false},
                                         Reading{"power/runtime_status", false}),
                         [](const auto& row) {
                           std::string name = row.param.attribute;
                           for (char& letter : name) {
                             if (letter == '/') letter = '_';
                           }
                           return name;
                         });

TEST(DriverOverride, ReadsNullWhenEmptyAndIsClearedByANewline) {
  Node61 node("one-gpu");
  EXPECT_EQ(node.attribute(kGpu, "driver_override"), "(null)\n");
  node.writeAttribute(kGpu, "driver_override", "vfio-pci");
  EXPECT_EQ(node.attribute(kGpu, "driver_override"), "vfio-pci\n");
  node.writeAttribute(kGpu, "driver_override", "\n");
  EXPECT_EQ(node.attribute(kGpu, "driver_override"), "(null)\n");
}

TEST(DriverOverride, SurvivesUnbindButNotRemoveAndRescan) {
  Node61 node("two-in-group");
  node.giveToVfio("0000:01:00.0");
  node.unbind("0000:01:00.0", "vfio-pci");
  EXPECT_EQ(node.attribute("0000:01:00.0", "driver_override"), "vfio-pci\n");
  node.writeAttribute("0000:01:00.0", "remove", "1");
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:01:00.0"));
  EXPECT_FALSE(node.exists("sys/kernel/iommu_groups/3"));
  node.write("bus/pci/rescan", "1");
  EXPECT_EQ(node.attribute("0000:01:00.0", "driver_override"), "(null)\n");
  EXPECT_EQ(node.driverOf("0000:01:00.0"), "e1000e");
}

TEST(Remove, OfABridgeTakesWhatIsBehindIt) {
  Node61 node("two-in-group");
  EXPECT_EQ(node.writeAttribute("0000:00:02.0", "remove", "1"), 0);
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:03:01.0"));
  EXPECT_FALSE(node.exists("sys/kernel/iommu_groups/4"));
  EXPECT_EQ(node.write("bus/pci/rescan", "1"), 0);
  EXPECT_EQ(node.driverOf("0000:03:01.0"), "e1000");
}

TEST(Unplug, OfAHeldDeviceEndsWhenItIsLetGo) {
  Node61 node("two-in-group");
  node.giveToVfio("0000:01:00.0");
  node.open("0000:01:00.0");
  const TaskId unplug = node.kernel.unplug({at("0000:01:00.0")});
  EXPECT_EQ(node.end(unplug), kHangs);
  EXPECT_EQ(node.attribute("0000:01:00.0", "config").substr(0, 4), "\xff\xff\xff\xff");
  node.close("0000:01:00.0");
  EXPECT_EQ(node.end(unplug), 0);
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:01:00.0"));
  EXPECT_EQ(node.end(node.kernel.unplug({at("0000:01:00.0")})), ENODEV);
}

TEST(Plug, BringsANewModelWithItsGroup) {
  Node61 node("one-gpu");
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:02:00.0"));
  EXPECT_EQ(node.end(node.kernel.plug({at("0000:02:00.0")})), 0);
  EXPECT_EQ(node.attribute("0000:02:00.0", "vendor"), "0x10de\n");
  EXPECT_EQ(node.attribute("0000:02:00.0", "numa_node"), "1\n");
  EXPECT_TRUE(node.exists("sys/kernel/iommu_groups/13/devices/0000:02:00.0"));
  EXPECT_EQ(node.end(node.kernel.plug({at("0000:02:00.0")})), EEXIST);
  EXPECT_EQ(node.end(node.kernel.plug({at("0000:09:00.0")})), ENODEV);
}

TEST(Renumber, TakesEffectWhenTheDeviceComesBack) {
  Node61 node("one-gpu");
  node.kernel.change([](World& w) { return renumber(w, at(kGpu), 40); });
  EXPECT_TRUE(node.exists("sys/kernel/iommu_groups/12/devices/0000:01:00.0"));
  node.writeAttribute(kGpu, "remove", "1");
  node.write("bus/pci/rescan", "1");
  EXPECT_TRUE(node.exists("sys/kernel/iommu_groups/40/devices/0000:01:00.0"));
  EXPECT_TRUE(node.exists("sys/kernel/iommu_groups/12/devices/0000:01:00.1"));
}

TEST(VirtualFunctions, HaveLinksAndGroupsOfTheirOwn) {
  Node61 node("nic-with-vfs");
  node.writeAttribute("0000:3b:00.0", "sriov_numvfs", "2");
  EXPECT_EQ(node.attribute("0000:3b:00.0", "sriov_numvfs"), "2\n");
  EXPECT_EQ(node.attribute("0000:3b:00.0", "virtfn1/device"), "0x1889\n");
  EXPECT_EQ(node.attribute("0000:3b:01.1", "physfn/device"), "0x1593\n");
  EXPECT_TRUE(node.exists("sys/kernel/iommu_groups/101/devices/0000:3b:01.1"));
  EXPECT_EQ(node.attribute("0000:3b:01.0", "config").substr(0, 4), "\xff\xff\xff\xff")
      << "a virtual function's id registers read all ones";
  EXPECT_EQ(node.attribute("0000:3b:01.0", "vendor"), "0x8086\n");
}

TEST(VirtualFunctions, StayWhenTheParentsDriverLeaves) {
  Node61 node("nic-with-vfs");
  node.writeAttribute("0000:3b:00.0", "sriov_numvfs", "2");
  EXPECT_EQ(node.unbind("0000:3b:00.0", "ice"), 0);
  EXPECT_TRUE(node.exists("sys/bus/pci/devices/0000:3b:01.1"));
}

TEST(VirtualFunctions, HeldOneBlocksTheirEnd) {
  Node61 node("nic-with-vfs");
  node.writeAttribute("0000:3b:00.0", "sriov_numvfs", "2");
  node.giveToVfio("0000:3b:01.1");
  ASSERT_EQ(node.open("0000:3b:01.1"), 0);
  ASSERT_EQ(node.writeAttribute("0000:3b:00.0", "sriov_numvfs", "0"), kHangs);
  const TaskId lowering = node.lastWrite;
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:3b:01.0"));
  EXPECT_TRUE(node.exists("sys/bus/pci/devices/0000:3b:01.1"));
  node.close("0000:3b:01.1");
  EXPECT_EQ(node.end(lowering), 0);
  EXPECT_EQ(node.attribute("0000:3b:00.0", "sriov_numvfs"), "0\n");
}

TEST(NoIommu, GivesVfioNoDevice) {
  Node61 node("no-iommu");
  node.writeAttribute(kGpu, "driver_override", "vfio-pci");
  EXPECT_EQ(node.bind(kGpu, "vfio-pci"), EINVAL);
  EXPECT_EQ(node.attribute(kGpu, "iommu_group/type"), "errno " + std::to_string(ENOENT));
}

TEST(UnsafeNoIommu, MakesAGroupThatSaysSo) {
  Topology topology = shippedTopology("no-iommu");
  topology.iommu = IommuMode::kUnsafeNoIommu;
  Node61 node(topology);
  node.giveToVfio(kGpu);
  EXPECT_EQ(node.attribute(kGpu, "iommu_group/name"), "vfio-noiommu\n");
  EXPECT_TRUE(node.exists("dev/vfio/noiommu-0"));
  EXPECT_EQ(node.unbind(kGpu, "vfio-pci"), 0);
  EXPECT_FALSE(node.exists("sys/kernel/iommu_groups/0"));
}

TEST(NvSwitch, HasABridgesClassAndAnEndpointsHeader) {
  Node61 node("eight-gpu");
  EXPECT_EQ(node.attribute("0000:a1:00.0", "class"), "0x068000\n");
  EXPECT_EQ(node.attribute("0000:a1:00.0", "config")[0x0e], 0);
  EXPECT_EQ(node.attribute("0000:a0:00.0", "config")[0x0e], 1);
}

TEST(Links, AreRelativeAndResolve) {
  Node61 node("one-gpu");
  const TreeNode* link = node.kernel.tree().find("sys/bus/pci/devices/0000:01:00.0");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->text, "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0");
  const TreeNode* subsystem =
      node.kernel.tree().find("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/subsystem");
  ASSERT_NE(subsystem, nullptr);
  EXPECT_EQ(subsystem->text, "../../../../bus/pci");
}

TEST(Obstruction, HangsAWriteUntilLifted) {
  Node61 node("one-gpu");
  const std::string path = "sys/bus/pci/drivers/snd_hda_intel/unbind";
  node.kernel.change([&](World& w) {
    w.obstructions.push_back({path, "", 0});
    return 0;
  });
  EXPECT_EQ(node.unbind("0000:01:00.1", "snd_hda_intel"), kHangs);
  const TaskId unbind = node.lastWrite;
  EXPECT_EQ(node.driverOf("0000:01:00.1"), "snd_hda_intel");
  node.kernel.change([](World& w) {
    w.obstructions.clear();
    return 0;
  });
  EXPECT_EQ(node.end(unbind), 0);
  EXPECT_EQ(node.driverOf("0000:01:00.1"), "");
}

TEST(Obstruction, FailsOnlyTheWritesItNames) {
  Node61 node("two-in-group");
  node.kernel.change([](World& w) {
    w.obstructions.push_back({"sys/bus/pci/drivers/e1000/unbind", "0000:03:02.0", EIO});
    return 0;
  });
  EXPECT_EQ(node.unbind("0000:03:01.0", "e1000"), 0);
  EXPECT_EQ(node.unbind("0000:03:02.0", "e1000"), EIO);
}

}  // namespace
}  // namespace vfiogate::sim
