// Ledger 3: whether somebody has a group open, as far as sysfs tells.

#include "privd/scan/pci_scan.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/fake_sysfs.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

struct UseCase {
  const char* name;
  std::function<void(FakeSysfs&)> change;
  GroupUse want;
};

void makeVgpu(FakeSysfs& tree, const std::string& address) {
  const fs::path at = tree.directoryOf(address);
  fs::create_symlink("../0000:00:01.0", at / "physfn");
  fs::create_directories(at / "nvidia");
  tree.setAttribute(address, "nvidia/current_vgpu_type", "1147\n");
}

class UseOfAGroup : public testing::TestWithParam<UseCase> {
protected:
  Snapshot reread() { return *scan(*SysfsRoot::open(tree_.sysfs()), *DevRoot::open(tree_.dev())); }

  FakeSysfs tree_;
};

TEST_P(UseOfAGroup, I1_I3_IsReadFromItsEndpoints) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.add({.address = "0000:01:00.1", .classCode = 0x040300});
  tree_.add({.address = "0000:00:01.0",
             .classCode = 0x060400,
             .headerType = 1,
             .driver = "pcieport",
             .enable = 2});
  GetParam().change(tree_);
  EXPECT_EQ(reread().groups.at(IommuGroupId(7)).use, GetParam().want);
  const Snapshot one =
      scanGroup(*SysfsRoot::open(tree_.sysfs()), *DevRoot::open(tree_.dev()), IommuGroupId(7));
  EXPECT_EQ(one.groups.at(IommuGroupId(7)), reread().groups.at(IommuGroupId(7)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, UseOfAGroup,
    testing::Values(
        UseCase{"BridgesNeverCount", [](FakeSysfs&) {}, GroupUse::kIdle},
        UseCase{"OneOpen", [](FakeSysfs& tree) { tree.setEnable("0000:01:00.1", 1); },
                GroupUse::kOpen},
        UseCase{"HostDriversNeverCount",
                [](FakeSysfs& tree) {
                  tree.setDriver("0000:01:00.1", "snd_hda_intel");
                  tree.setEnable("0000:01:00.1", 1);
                },
                GroupUse::kIdle},
        UseCase{"UnboundWhileOpen",
                [](FakeSysfs& tree) {
                  tree.setDriver("0000:01:00.1", "");
                  tree.setEnable("0000:01:00.1", 1);
                },
                GroupUse::kOpen},
        UseCase{"Unreadable",
                [](FakeSysfs& tree) { tree.setAttribute("0000:01:00.0", "enable", "?"); },
                GroupUse::kUnknown},
        UseCase{"OpenBeatsUnreadable",
                [](FakeSysfs& tree) {
                  tree.setAttribute("0000:01:00.0", "enable", "?");
                  tree.setEnable("0000:01:00.1", 3);
                },
                GroupUse::kOpen},
        UseCase{"Mediated",
                [](FakeSysfs& tree) {
                  const auto at = tree.directoryOf("0000:01:00.0");
                  fs::create_directories(at / "mdev_supported_types/nvidia-63");
                  fs::create_directories(at / "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001");
                },
                GroupUse::kBlind},
        UseCase{"MediatedOnAHostDriver",
                [](FakeSysfs& tree) {
                  tree.setDriver("0000:01:00.0", "nvidia");
                  const auto at = tree.directoryOf("0000:01:00.0");
                  fs::create_directories(at / "mdev_supported_types/nvidia-63");
                  fs::create_directories(at / "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001");
                },
                GroupUse::kBlind},
        UseCase{"AVgpuThatItsDriverEnables",
                [](FakeSysfs& tree) {
                  makeVgpu(tree, "0000:01:00.0");
                  tree.setEnable("0000:01:00.0", 1);
                },
                GroupUse::kBlind},
        UseCase{"AVgpuThatIsNotEnabled", [](FakeSysfs& tree) { makeVgpu(tree, "0000:01:00.0"); },
                GroupUse::kBlind},
        UseCase{"OpenBesideAVgpu",
                [](FakeSysfs& tree) {
                  makeVgpu(tree, "0000:01:00.0");
                  tree.setEnable("0000:01:00.1", 1);
                },
                GroupUse::kOpen},
        UseCase{"NoNumberInVfioDev",
                [](FakeSysfs& tree) {
                  const auto at = tree.directoryOf("0000:01:00.0") / "vfio-dev";
                  fs::remove_all(at);
                  fs::create_directories(at / "vfiox");
                  tree.setEnable("0000:01:00.0", 1);
                },
                GroupUse::kUnknown},
        UseCase{"DriverUnreadable",
                [](FakeSysfs& tree) {
                  const auto at = tree.directoryOf("0000:01:00.1") / "driver";
                  fs::remove(at);
                  fs::create_directory(at);
                  tree.setEnable("0000:01:00.1", 1);
                },
                GroupUse::kUnknown},
        UseCase{"ASwitchOfGpusCounts",
                [](FakeSysfs& tree) {
                  tree.setIds({.address = "0000:01:00.1", .classCode = 0x068000});
                  tree.setEnable("0000:01:00.1", 1);
                },
                GroupUse::kOpen},
        UseCase{"ABridgesClassWithoutItsHeader",
                [](FakeSysfs& tree) {
                  tree.setIds({.address = "0000:01:00.1", .classCode = 0x068000});
                  tree.setAttribute("0000:01:00.1", "config", "abc");
                },
                GroupUse::kUnknown},
        UseCase{"ABridgeWithoutItsHeaderOnItsHostDriver",
                [](FakeSysfs& tree) { tree.setAttribute("0000:00:01.0", "config", "abc"); },
                GroupUse::kIdle},
        UseCase{"AGoneMemberIsIdle",
                [](FakeSysfs& tree) {
                  tree.setEnable("0000:01:00.1", 1);
                  fs::remove_all(tree.directoryOf("0000:01:00.1"));
                },
                GroupUse::kIdle}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace vfiogate
