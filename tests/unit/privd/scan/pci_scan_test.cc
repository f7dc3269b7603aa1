#include "privd/scan/pci_scan.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>

#include "ipc/types/viability.h"
#include "tests/support/fake_sysfs.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

const Bdf kGpu = *Bdf::parse("0000:01:00.0");
const Bdf kAudio = *Bdf::parse("0000:01:00.1");

class PciScan : public testing::Test {
protected:
  Snapshot reread() { return *scan(*SysfsRoot::open(tree_.sysfs()), *DevRoot::open(tree_.dev())); }
  PciDevice gpu() { return reread().devices.at(kGpu); }
  fs::path gpuDirectory() { return tree_.directoryOf(kGpu.str()); }

  FakeSysfs tree_;
};

TEST_F(PciScan, FindsNothingInAnEmptyTree) {
  EXPECT_EQ(reread().devices.size(), 0U);
}

TEST_F(PciScan, ReadsADeviceWhole) {
  tree_.add({.address = "0000:01:00.0", .numaNode = 1});
  const Snapshot seen = reread();
  const PciDevice& device = seen.devices.at(kGpu);
  EXPECT_EQ(device.vendor, 0x10de);
  EXPECT_EQ(device.device, 0x2684);
  EXPECT_EQ(device.classCode, 0x030000U);
  EXPECT_EQ(device.revision, 0xa1);
  EXPECT_EQ(device.headerType, 0);
  EXPECT_EQ(device.driver, "vfio-pci");
  EXPECT_TRUE(device.vfioDev.has_value());
  EXPECT_EQ(device.numaNode, 1U);
  EXPECT_EQ(device.group, IommuGroupId(7));
  EXPECT_EQ(device.enableCount, 0U);
  EXPECT_EQ(device.pcieRoot, "pci0000:00");
  EXPECT_EQ(device.resetMethods, "flr bus");
  EXPECT_TRUE(device.problems.empty());
  const IommuGroup& group = seen.groups.at(IommuGroupId(7));
  EXPECT_EQ(group.type, "DMA-FQ");
  EXPECT_TRUE(group.groupNode);
  EXPECT_EQ(group.members, std::vector{kGpu});
  EXPECT_EQ(group.use, GroupUse::kIdle);
  EXPECT_TRUE(viability(seen, kGpu).ready());
}

TEST_F(PciScan, AGroupOfTheNoIommuModeHasANodeOfAnotherName) {
  tree_.add({.address = "0000:01:00.0"});
  std::ofstream(tree_.sysfs() + "/kernel/iommu_groups/7/name") << "vfio-noiommu\n";
  EXPECT_FALSE(reread().groups.at(IommuGroupId(7)).groupNode) << "/dev/vfio/7 is not its node";
  fs::rename(tree_.dev() + "/vfio/7", tree_.dev() + "/vfio/noiommu-7");
  const IommuGroup group = reread().groups.at(IommuGroupId(7));
  EXPECT_TRUE(group.noIommu);
  EXPECT_TRUE(group.groupNode);
}

TEST_F(PciScan, TheMultiFunctionBitIsNoHeaderType) {
  tree_.add({.address = "0000:01:00.0", .headerType = 0x80});
  EXPECT_EQ(gpu().headerType, 0);
}

TEST_F(PciScan, NumaMinusOneMeansNone) {
  tree_.add({.address = "0000:01:00.0"});
  EXPECT_EQ(gpu().numaNode, std::nullopt);
  EXPECT_TRUE(gpu().problems.empty());
}

TEST_F(PciScan, ADeviceThatReadsAllOnesDoesNotAnswer) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.setAttribute("0000:01:00.0", "config", std::string(256, '\xff'));
  EXPECT_FALSE(gpu().answers);
}

struct Broken {
  const char* name;
  const char* attribute;
  std::string text;
  std::string why;
};

class PciScanOfABrokenAttribute : public PciScan, public testing::WithParamInterface<Broken> {};

TEST_P(PciScanOfABrokenAttribute, NamesItAndHidesNobody) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.add({.address = "0000:02:00.0", .group = 8});
  tree_.setAttribute("0000:01:00.0", GetParam().attribute, GetParam().text);
  const Snapshot seen = reread();
  EXPECT_EQ(seen.devices.size(), 2U);
  ASSERT_EQ(seen.devices.at(kGpu).problems.size(), 1U);
  EXPECT_EQ(seen.devices.at(kGpu).problems[0].attribute, GetParam().attribute);
  EXPECT_EQ(seen.devices.at(kGpu).problems[0].why, GetParam().why);
  EXPECT_TRUE(viability(seen, *Bdf::parse("0000:02:00.0")).ready());
}

INSTANTIATE_TEST_SUITE_P(
    Table, PciScanOfABrokenAttribute,
    testing::Values(
        Broken{"EmptyModalias", "modalias", "", "malformed: \"\""},
        Broken{"TextModalias", "modalias", "nvidia\n", "malformed: \"nvidia\""},
        Broken{"WideModalias", "modalias",
               "pci:v000110DEd00002684sv000010DEsd00000001bc03sc00i00\n",
               "malformed: \"pci:v000110DEd00002684sv000010DEsd000000...\""},
        Broken{"WideRevision", "revision", "0x100\n", "malformed: \"0x100\""},
        Broken{"NegativeRevision", "revision", "-1\n", "malformed: \"-1\""},
        Broken{"BinaryRevision", "revision", std::string("\0\1\2", 3), "malformed: \"???\""},
        Broken{"LongRevision", "revision", std::string(90'000, '7'),
               "malformed: \"" + std::string(40, '7') + "...\""},
        Broken{"NumaText", "numa_node", "one\n", "malformed: \"one\""},
        Broken{"NumaHuge", "numa_node", "4294967295\n", "malformed: \"4294967295\""},
        Broken{"EnableText", "enable", "yes\n", "malformed: \"yes\""},
        Broken{"EnableHuge", "enable", "99999999999\n", "malformed: \"99999999999\""},
        Broken{"ControlCharacters", "modalias", "pci:\x1b[31m\n", "malformed: \"pci:?[31m\""},
        Broken{"ShortConfig", "config", "abc", "malformed: shorter than a header"},
        Broken{"BootVgaText", "boot_vga", "maybe\n", "malformed: \"maybe\""}),
    [](const auto& row) { return std::string(row.param.name); });

// Whatever of it is missing, or is something else: then it is no function of which all ids are
// known.
TEST_F(PciScan, AModaliasIsWholeOrAProblem) {
  tree_.add({.address = "0000:01:00.0"});
  const std::string whole = "pci:v000010DEd00002684sv000010DEsd0000167Cbc03sc02i01";
  tree_.setAttribute("0000:01:00.0", "modalias", whole + "\n");
  ASSERT_TRUE(gpu().problems.empty());
  EXPECT_EQ(gpu().subdevice, 0x167c);
  EXPECT_EQ(gpu().classCode, 0x030201U);
  std::vector<std::string> spoiled{whole + "0", "",
                                   "usb:v1D6Bp0002d0601dc09dsc00dp01ic09isc00ip00in00"};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    spoiled.push_back(whole.substr(0, i));
    spoiled.push_back(whole.substr(0, i) + "-" + whole.substr(i + 1));
    spoiled.push_back(whole.substr(0, i) + whole.substr(i + 1) + "-");
  }
  for (const std::string& text : spoiled) {
    tree_.setAttribute("0000:01:00.0", "modalias", text + "\n");
    ASSERT_EQ(gpu().problems.size(), 1U) << text;
    EXPECT_EQ(gpu().problems[0].attribute, "modalias");
    EXPECT_EQ(gpu().classCode, std::nullopt) << text;
  }
}

TEST_F(PciScan, AbsentRequiredAttributesAreProblems) {
  tree_.add({.address = "0000:01:00.0"});
  for (const char* name : {"modalias", "config", "enable"}) {
    tree_.removeAttribute("0000:01:00.0", name);
  }
  const PciDevice device = gpu();
  EXPECT_EQ(device.problems.size(), 3U);
  for (const auto& problem : device.problems) EXPECT_EQ(problem.why, "absent") << problem.attribute;
}

TEST_F(PciScan, APipeInAnAttributesPlaceIsAProblem) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.removeAttribute("0000:01:00.0", "modalias");
  ASSERT_EQ(mkfifo((gpuDirectory() / "modalias").c_str(), 0600), 0);
  ASSERT_EQ(gpu().problems.size(), 1U);
  EXPECT_EQ(gpu().problems[0].why, "unreadable: Invalid argument");
}

TEST_F(PciScan, ADeviceWhoseDirectoryIsGoneIsNotThere) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.add({.address = "0000:02:00.0", .group = 8});
  fs::remove_all(gpuDirectory());  // the link in bus/pci/devices leads nowhere now
  const Snapshot seen = reread();
  EXPECT_FALSE(seen.devices.contains(kGpu));
  EXPECT_EQ(seen.devices.size(), 1U);
}

TEST_F(PciScan, ALinkToAPlaceOutsideIsNoDevice) {
  fs::create_symlink("/proc/self", tree_.sysfs() + "/bus/pci/devices/0000:09:00.0");
  EXPECT_EQ(reread().devices.size(), 0U);
}

TEST_F(PciScan, NeverOpensUeventOrDriverOverride) {
  tree_.add({.address = "0000:01:00.0"});
  for (const char* name : {"uevent", "driver_override"}) {
    ASSERT_EQ(mkfifo((gpuDirectory() / name).c_str(), 0600), 0);
  }
  // A reader of either would be noted as a problem, as for any pipe.
  EXPECT_TRUE(gpu().problems.empty());
}

TEST_F(PciScan, KnowsVirtualFunctionsFromPhysicalOnes) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.setAttribute("0000:01:00.0", "sriov_totalvfs", "4\n");
  ASSERT_EQ(mkfifo((gpuDirectory() / "sriov_numvfs").c_str(), 0600), 0)
      << "never read: it may hang";
  tree_.add({.address = "0000:01:00.1", .group = 8});
  fs::create_symlink("../0000:01:00.1", gpuDirectory() / "virtfn0");
  fs::create_symlink("../0000:01:00.0", tree_.directoryOf("0000:01:00.1") / "physfn");
  const Snapshot seen = reread();
  EXPECT_EQ(seen.devices.at(kGpu).sriov, SriovRole::kPhysicalFunction);
  EXPECT_EQ(seen.devices.at(kGpu).virtualFunctions, 1U);
  EXPECT_EQ(seen.devices.at(kAudio).sriov, SriovRole::kVirtualFunction);
  EXPECT_EQ(seen.devices.at(kAudio).physicalFunction, kGpu);
}

TEST_F(PciScan, CdevNeedsBothTheNumberAndTheNode) {
  tree_.add({.address = "0000:01:00.0"});
  EXPECT_FALSE(gpu().cdevNode);
  tree_.setAttribute("0000:01:00.0", "vfio-dev/vfio0/dev", "510:0\n");
  EXPECT_FALSE(gpu().cdevNode);
  fs::create_directories(tree_.dev() + "/vfio/devices");
  ASSERT_EQ(mknod((tree_.dev() + "/vfio/devices/vfio0").c_str(), S_IFCHR | 0600, 0x103), 0);
  EXPECT_TRUE(gpu().cdevNode);
}

TEST_F(PciScan, ARereadOfAGroupThatIsNotThereIsEmpty) {
  const Snapshot seen =
      scanGroup(*SysfsRoot::open(tree_.sysfs()), *DevRoot::open(tree_.dev()), IommuGroupId(99));
  EXPECT_TRUE(seen.groups.empty());
  EXPECT_TRUE(seen.devices.empty());
}

TEST_F(PciScan, I3_AGroupWhoseMembersCannotBeReadIsNotIdle) {
  tree_.add({.address = "0000:01:00.0"});
  const std::string members = tree_.sysfs() + "/kernel/iommu_groups/7/devices";
  fs::remove_all(members);
  fs::create_symlink("devices", members);  // a loop: ELOOP
  EXPECT_EQ(reread().groups.at(IommuGroupId(7)).use, GroupUse::kUnknown);
}

TEST_F(PciScan, I3_ADriverThatMayOfferVfioIsNotIdle) {
  tree_.add({.address = "0000:01:00.0", .enable = 1});
  fs::remove_all(gpuDirectory() / "vfio-dev");
  fs::create_symlink("vfio-dev", gpuDirectory() / "vfio-dev");
  const Snapshot seen = reread();
  EXPECT_EQ(seen.groups.at(IommuGroupId(7)).use, GroupUse::kUnknown);
  ASSERT_EQ(seen.devices.at(kGpu).problems.size(), 1U);
  EXPECT_EQ(seen.devices.at(kGpu).problems[0].attribute, "vfio-dev");
}

TEST_F(PciScan, AListThatCannotBeReadIsNoMachineWithoutDevices) {
  const std::string devices = tree_.sysfs() + "/bus/pci/devices";
  fs::remove_all(devices);
  fs::create_symlink("devices", devices);
  EXPECT_FALSE(scan(*SysfsRoot::open(tree_.sysfs()), *DevRoot::open(tree_.dev())));
}

TEST_F(PciScan, MembersThatAreNoPciFunctionsAreLeftOut) {
  tree_.add({.address = "0000:01:00.0"});
  fs::create_directory(tree_.sysfs() + "/kernel/iommu_groups/7/devices/platform-device");
  EXPECT_EQ(reread().groups.at(IommuGroupId(7)).members, std::vector{kGpu});
}

}  // namespace
}  // namespace vfiogate
