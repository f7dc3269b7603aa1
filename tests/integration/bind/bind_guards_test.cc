// What speaks against a change, from the evidence of a whole simulated node.

#include "tests/integration/bind/bind_case.h"

#include <fstream>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class BindGuards : public EitherWay<BindCase> {
protected:
  /// Refused for this, and nothing was written.
  void expectRefused(const std::vector<std::string>& command, const std::string& why) const {
    ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
    const Ended ended = node_->change(command);
    EXPECT_EQ(ended.code, 1) << ended.text;
    EXPECT_THAT(ended.text, AllOf(HasSubstr("refused, nothing was written"), HasSubstr(why)));
    EXPECT_THAT(node_->writes(), IsEmpty());
  }
  void expectDone(const std::vector<std::string>& command) const {
    const Ended ended = node_->change(command);
    EXPECT_EQ(ended.code, 0) << ended.text;
  }
};

TEST_P(BindGuards, TheDisplayOfTheHostNeedsAWordForEachGuard) {
  bringUp(kLaptop);
  expectRefused({"bind", kGpu}, "boot-vga");
  expectRefused({"bind", kGpu, "--override", "boot-vga"}, "console");
  expectRefused({"bind", kGpu, "--override", "boot-vga", "--override", "console"}, "users");
  expectRefused({"bind", kGpu, "--override", "boot-vga", "--override", "console", "--override",
                 std::string("users=") + kGpu},
                kAudio);
  expectDone(words({"bind", kGpu}, kLiftGpu));
}

TEST_P(BindGuards, ADiskInUseIsRefusedAndTheRootDiskNamedAsSuch) {
  bring("root-nvme-shared.yaml");
  const std::string mountinfo = node_->file("mountinfo");
  std::ofstream(mountinfo) << "25 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw\n";
  const std::vector<std::string> mounts{"--host-mountinfo", mountinfo};
  if (GetParam()) {
    ASSERT_TRUE(node_->serve(mounts)) << node_->daemon().output();
  }
  // The disk is in the card's group.
  expectRefused(words({"bind", "0000:01:00.0"}, mounts), "root-disk");
  expectRefused(words({"bind", "0000:02:00.0", "--override", "storage"}, mounts), "root-disk");
}

TEST_P(BindGuards, AMountedDiskIsRefusedWithoutAnyTable) {
  bringUp(kLaptop);
  expectRefused({"bind", kNvme, "--override", "storage"}, "block");
}

TEST_P(BindGuards, AnIdleDiskIsBoundWithAWordWhereItCannotBeOpened) {
  bringUp("root-nvme-nic.yaml");
  expectRefused({"bind", "0000:03:00.0", "--override", "storage"}, "dm-0");
  expectRefused({"bind", "0000:04:00.0"}, "storage");
  expectDone({"bind", "0000:04:00.0", "--override", "storage"});
}

TEST_P(BindGuards, AnInterfaceThatIsUpIsRefusedUntilItIsDown) {
  bringUp(kLaptop);
  expectRefused({"bind", kLan}, "interface enp3s0 is up");
  ASSERT_EQ(node_->ctl("link enp3s0 down"), "ok\n");
  expectDone({"bind", kLan});
}

TEST_P(BindGuards, APhysicalFunctionWithVirtualOnesIsRefusedTheyAreNot) {
  bringUp("nic-with-vfs.yaml");
  ASSERT_EQ(node_->ctl("link ens1f0 down"), "ok\n");
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 4"), "ok\n");
  expectRefused({"bind", "0000:3b:00.0"}, "it has 4 virtual functions");
  expectRefused({"bind", "0000:3b:01.0"}, "without an interface in sight");
  expectDone({"bind", "0000:3b:01.0", "--override", "network=3b:01.0"});
  expectDone({"unbind", "0000:3b:01.0"});
}

TEST_P(BindGuards, AParentIsRefusedWhileItHasMediatedDevices) {
  bringUp("vgpu.yaml");
  expectRefused({"bind", "0000:11:00.0", "--override", "users"}, "mediated devices removed");
  for (const char last : {'1', '2', '3'}) {
    ASSERT_EQ(node_->ctl(std::string("remove-mdev 3f5e2c10-0001-4a5b-8c6d-00000000000") + last),
              "ok\n");
  }
  expectDone({"bind", "0000:11:00.0", "--override", "users"});
}

TEST_P(BindGuards, AVgpuStaysOnItsHostDriver) {
  bringUp("vgpu-vfs.yaml");
  ASSERT_EQ(node_->ctl("vfs 0000:11:00.0 2"), "ok\n");
  for (const char* type : {"0", "1155"}) {
    ASSERT_EQ(node_->ctl(std::string("vgpu 0000:11:00.4 ") + type), "ok\n");
    expectRefused({"bind", "0000:11:00.4"}, "nvidia makes vGPUs of it");
    expectRefused({"unbind", "0000:11:00.4"}, "nvidia makes vGPUs of it");
  }
  EXPECT_EQ(node_->driverOf("0000:11:00.4"), "nvidia");
}

TEST_P(BindGuards, AnNvSwitchIsAnEndpointAndIsBound) {
  bringUp("eight-gpu-nvidia.yaml");
  expectRefused({"bind", "0000:a1:00.0"}, "nvidia");
  expectDone({"bind", "0000:a1:00.0", "--override", "users"});
  EXPECT_EQ(node_->driverOf("0000:a1:00.0"), "vfio-pci");
}

TEST_P(BindGuards, WithoutAnIommuNothingIsBound) {
  bringUp("no-iommu.yaml");
  const TreeState devices = node_->state();
  ASSERT_FALSE(devices.empty());
  const Ended ended = node_->change({"bind", devices.rbegin()->first});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("IOMMU"));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_P(BindGuards, WhatIsDeniedIsDeniedToRootInBothDirections) {
  const std::vector<std::string> deny{"--deny", "8086:2723"};
  bringUp(kLaptop, deny);
  const auto mine = [&](std::vector<std::string> command) {
    return words(std::move(command), deny);
  };
  expectRefused(mine({"bind", kWifi}), "a --deny of privd matches it");
  ASSERT_EQ(node_->ctl(std::string("bind ") + kWifi + " vfio-pci"), "ok\n");
  expectRefused(mine({"unbind", kWifi}), "a --deny of privd matches it");
}

TEST_P(BindGuards, AGroupThatAVmHasOpenIsLeftToIt) {
  bringUp(kLaptop);
  expectDone(words({"bind", kGpu}, kLiftGpu));
  ASSERT_EQ(node_->ctl(std::string("open ") + kAudio), "ok\n");
  expectRefused({"unbind", kGpu}, "in-use");
  ASSERT_EQ(node_->ctl(std::string("close ") + kAudio), "ok\n");
  ASSERT_EQ(node_->ctl("open-group 10"), "ok\n");
  expectRefused({"unbind", kGpu, "--override", "unguarded"}, "in-use");
  ASSERT_EQ(node_->ctl("close-group 10"), "ok\n");
  expectDone({"unbind", kGpu});
}

INSTANTIATE_TEST_SUITE_P(Ways, BindGuards, testing::Bool(), wayName);

}  // namespace
}  // namespace vfiogate::test
