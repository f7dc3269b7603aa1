// Mediated devices: what is read of them, when they come and go, and what strangers may write
// there.

#include "ipc/types/viability.h"
#include "privd/scan/pci_scan.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

const Bdf kParent = *Bdf::parse("0000:11:00.0");
const Uuid kFirst = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
const Uuid kSecond = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000002");

class MediatedScan : public testing::Test {
protected:
  MediatedScan() {
    tree_.add({.address = "0000:11:00.0", .driver = "nvidia", .group = 2, .numaNode = 1});
    write(parent() / "mdev_supported_types/nvidia-711/name", "NVIDIA A16-4Q\n");
  }
  ~MediatedScan() noexcept override = default;

  fs::path sys() const { return tree_.sysfs(); }
  fs::path parent() const { return tree_.directoryOf("0000:11:00.0"); }

  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static void link(const fs::path& path, const fs::path& target) {
    fs::create_directories(path.parent_path());
    fs::remove(path);
    fs::create_symlink(fs::relative(target, path.parent_path()), path);
  }

  /// As the kernel makes one, below the parent, in a group of its own.
  void make(const Uuid& uuid, unsigned group) {
    const fs::path at = parent() / uuid.str();
    const fs::path inGroup = sys() / "kernel/iommu_groups" / std::to_string(group);
    fs::create_directories(at);
    fs::create_directories(sys() / "bus/mdev/drivers/vfio_mdev");
    write(inGroup / "type", "unknown\n");
    write(inGroup / "name", "vfio-noiommu\n");
    link(at / "mdev_type", parent() / "mdev_supported_types/nvidia-711");
    link(at / "driver", sys() / "bus/mdev/drivers/vfio_mdev");
    link(at / "iommu_group", inGroup);
    link(inGroup / "devices" / uuid.str(), at);
    link(sys() / "bus/mdev/devices" / uuid.str(), at);
  }
  void take(const Uuid& uuid, unsigned group) {
    fs::remove(sys() / "bus/mdev/devices" / uuid.str());
    fs::remove_all(sys() / "kernel/iommu_groups" / std::to_string(group));
    fs::remove_all(parent() / uuid.str());
  }

  Snapshot whole() { return *scanUnits(sysfs_, dev_); }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
};

TEST_F(MediatedScan, ReadsADeviceWhole) {
  make(kFirst, 60);
  const Snapshot seen = whole();
  EXPECT_EQ(seen.mediated.at(kFirst), (MediatedDevice{.uuid = kFirst,
                                                      .type = "nvidia-711",
                                                      .typeName = "NVIDIA A16-4Q",
                                                      .parent = kParent,
                                                      .numaNode = 1,
                                                      .driver = "vfio_mdev",
                                                      .group = IommuGroupId(60)}));
  const IommuGroup& group = seen.groups.at(IommuGroupId(60));
  EXPECT_EQ(group.mediated, std::vector{kFirst});
  EXPECT_TRUE(group.members.empty());
  EXPECT_EQ(group.use, GroupUse::kBlind);
  EXPECT_EQ(viability(seen, seen.mediated.at(kFirst)).obstacle, Obstacle::kNoNode);
}

/// Linux 6.12 gives these groups the name that those of the no-IOMMU mode have.
TEST_F(MediatedScan, IsNotTakenForADeviceWithoutIommu) {
  make(kFirst, 60);
  fs::create_directories(tree_.dev() + "/vfio");
  ASSERT_EQ(mknod((tree_.dev() + "/vfio/60").c_str(), S_IFCHR | 0600, 0x103), 0);
  const Snapshot seen = whole();
  EXPECT_FALSE(seen.groups.at(IommuGroupId(60)).noIommu);
  EXPECT_TRUE(seen.groups.at(IommuGroupId(60)).groupNode);
  EXPECT_TRUE(viability(seen, seen.mediated.at(kFirst)).ready());
}

TEST_F(MediatedScan, TheParentIsNeverAdvisedForBinding) {
  make(kFirst, 60);
  const Snapshot seen = whole();
  EXPECT_EQ(seen.devices.at(kParent).mediated, std::vector{kFirst});
  EXPECT_EQ(viability(seen, kParent).obstacle, Obstacle::kMediatedParent);
  EXPECT_EQ(seen.groups.at(IommuGroupId(2)).use, GroupUse::kBlind) << "the guard in-use refuses it";
  take(kFirst, 60);
  EXPECT_EQ(viability(whole(), kParent).obstacle, Obstacle::kHostDriver);
}

TEST_F(MediatedScan, OneThatCameOrWentIsSeenWhereItsEventPoints) {
  Snapshot seen = whole();
  const Places where{.devices = {kParent}, .groups = {}, .mediated = {kFirst}};
  make(kFirst, 60);
  EXPECT_TRUE(rereadUnits(sysfs_, dev_, where, seen));
  EXPECT_EQ(seen, whole());
  EXPECT_FALSE(rereadUnits(sysfs_, dev_, where, seen)) << "nothing is new";
  take(kFirst, 60);
  EXPECT_TRUE(rereadUnits(sysfs_, dev_, where, seen));
  EXPECT_EQ(seen, whole());
  EXPECT_FALSE(seen.groups.contains(IommuGroupId(60)));
}

TEST_F(MediatedScan, OneMadeAnewInAnotherGroupLeavesTheOldOne) {
  make(kFirst, 60);
  Snapshot seen = whole();
  take(kFirst, 60);
  make(kFirst, 61);
  rereadUnits(sysfs_, dev_, {.devices = {}, .groups = {}, .mediated = {kFirst}}, seen);
  EXPECT_EQ(seen, whole());
}

TEST_F(MediatedScan, AGroupIsReadWithWhatIsInIt) {
  make(kFirst, 60);
  make(kSecond, 61);
  const Snapshot one = scanGroup(sysfs_, dev_, IommuGroupId(61));
  EXPECT_EQ(one.mediated.size(), 1U);
  EXPECT_EQ(one.mediated.at(kSecond), whole().mediated.at(kSecond));
  EXPECT_EQ(one.groups.at(IommuGroupId(61)), whole().groups.at(IommuGroupId(61)));
}

TEST_F(MediatedScan, WhatIsMissingIsAbsentAndHidesNobody) {
  make(kFirst, 60);
  make(kSecond, 61);
  fs::remove(parent() / kFirst.str() / "mdev_type");
  fs::remove(parent() / kFirst.str() / "iommu_group");
  fs::remove(parent() / kFirst.str() / "driver");
  const Snapshot seen = whole();
  EXPECT_EQ(seen.mediated.at(kFirst),
            (MediatedDevice{.uuid = kFirst, .parent = kParent, .numaNode = 1}));
  EXPECT_EQ(viability(seen, seen.mediated.at(kFirst)).obstacle, Obstacle::kNoGroup);
  EXPECT_EQ(seen.mediated.at(kSecond).type, "nvidia-711");
}

TEST_F(MediatedScan, NamesThatAreNoUuidAreNone) {
  make(kFirst, 60);
  for (const char* name : {"mdev", "3F5E2C10-0001-4A5B-8C6D-000000000009", "0000:11:00.0"}) {
    link(sys() / "bus/mdev/devices" / name, parent() / kFirst.str());
  }
  EXPECT_EQ(whole().mediated.size(), 1U);
}

TEST_F(MediatedScan, AParentThatIsNoPciFunctionIsNone) {
  make(kFirst, 60);
  const fs::path elsewhere = sys() / "devices/virtual/mtty/mtty" / kFirst.str();
  fs::create_directories(elsewhere);
  link(sys() / "bus/mdev/devices" / kFirst.str(), elsewhere);
  EXPECT_EQ(whole().mediated.at(kFirst).parent, std::nullopt);
}

TEST_F(MediatedScan, MoreThanANodeHasAreCutOff) {
  for (unsigned i = 0; i < 1100; ++i) {
    std::string name = "00000000-0000-0000-0000-000000000000";
    const std::string number = std::to_string(i);
    name.replace(name.size() - number.size(), number.size(), number);
    fs::create_directories(sys() / "bus/mdev/devices" / name);
  }
  EXPECT_EQ(whole().mediated.size(), 1024U);
}

}  // namespace
}  // namespace vfiogate
