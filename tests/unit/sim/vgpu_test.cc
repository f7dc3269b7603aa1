// Virtual functions of which a host driver makes vGPUs.

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

constexpr const char* kFunction = "0000:11:00.4";
constexpr const char* kNext = "0000:11:00.5";
constexpr const char* kCurrent = "nvidia/current_vgpu_type";
constexpr const char* kCreatable = "nvidia/creatable_vgpu_types";

class Vgpus : public testing::Test {
protected:
  Vgpus() { node.write("bus/pci/devices/0000:11:00.0/sriov_numvfs", "4\n"); }

  int set(const char* address, const char* type) {
    return node.write(std::string("bus/pci/devices/") + address + "/" + kCurrent, type);
  }

  Node61 node{"vgpu-vfs"};
};

TEST_F(Vgpus, AreOfferedToVfioByTheirHostDriver) {
  EXPECT_EQ(node.read("bus/pci/devices/0000:11:00.4/enable"), "1\n");
  EXPECT_TRUE(node.exists("sys/bus/pci/drivers/nvidia/0000:11:00.4"));
  EXPECT_TRUE(node.exists("dev/vfio/100"));
  EXPECT_EQ(node.attribute(kFunction, kCurrent), "0\n");
  EXPECT_EQ(node.attribute(kFunction, kCreatable),
            "ID    : vGPU Name\n1147  : NVIDIA L40S-1Q\n1155  : NVIDIA L40S-24Q\n");
}

TEST_F(Vgpus, TakeATypeForWhichThereIsRoom) {
  EXPECT_EQ(set(kFunction, "1155\n"), 0);
  EXPECT_EQ(node.attribute(kFunction, kCurrent), "1155\n");
  EXPECT_EQ(set(kNext, "1147\n"), 0);
  EXPECT_EQ(set("0000:11:00.6", "1155\n"), EINVAL) << "no half is left";
  EXPECT_EQ(node.attribute("0000:11:00.6", kCreatable),
            "ID    : vGPU Name\n1147  : NVIDIA L40S-1Q\n");
  EXPECT_EQ(set(kNext, "0\n"), 0);
  EXPECT_EQ(set("0000:11:00.6", "1155\n"), 0);
  EXPECT_EQ(node.attribute(kNext, kCreatable), "ID    : vGPU Name\n") << "the card is full";
  EXPECT_EQ(set(kNext, "7\n"), EINVAL);
  EXPECT_EQ(set(kNext, "x\n"), EINVAL);
}

TEST_F(Vgpus, KeepTheirTypeWhileAVmHasThem) {
  ASSERT_EQ(set(kFunction, "1155\n"), 0);
  const auto open = [](World& world) { return openDevice(world, at(kFunction), "vm"); };
  const auto close = [](World& world) { return closeDevice(world, at(kFunction), "vm"); };
  ASSERT_EQ(node.kernel.change(open), 0);
  EXPECT_EQ(set(kFunction, "0\n"), EPERM);
  ASSERT_EQ(node.kernel.change(close), 0);
  EXPECT_EQ(node.attribute(kFunction, "enable"), "1\n") << "its driver's";
  EXPECT_EQ(set(kFunction, "0\n"), 0);
}

}  // namespace
}  // namespace vfiogate::sim
