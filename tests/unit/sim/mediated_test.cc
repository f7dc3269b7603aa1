// Mediated devices as platform-facts.md 7 has them.

#include "sim/sysfs/kernel/mediated.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;

constexpr const char* kParent = "0000:11:00.0";
constexpr const char* kFirst = "3f5e2c10-0001-4a5b-8c6d-000000000001";
constexpr const char* kNew = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";
constexpr const char* kCreate =
    "bus/pci/devices/0000:11:00.0/mdev_supported_types/nvidia-711/create";

std::string instances(Node61& node) {
  return node.attribute(kParent, "mdev_supported_types/nvidia-711/available_instances");
}

TEST(Mediated, FromBootHasAGroupOfItsOwnWithANode) {
  Node61 node("vgpu");
  EXPECT_TRUE(node.exists(std::string("sys/bus/mdev/devices/") + kFirst));
  EXPECT_EQ(node.read(std::string("bus/mdev/devices/") + kFirst + "/mdev_type/name"),
            "NVIDIA A16-4Q\n");
  EXPECT_TRUE(node.exists(std::string("sys/kernel/iommu_groups/60/devices/") + kFirst));
  EXPECT_EQ(node.read("kernel/iommu_groups/60/type"), "unknown\n");
  EXPECT_EQ(node.read("kernel/iommu_groups/60/name"), "vfio-noiommu\n");
  EXPECT_TRUE(node.exists("dev/vfio/60"));
  EXPECT_EQ(instances(node), "2\n");
}

TEST(Mediated, ComesAndGoesWithTheKernelsEvents) {
  Node61 node("vgpu");
  EXPECT_EQ(node.write(kCreate, std::string(kNew) + "\n"), 0);
  EXPECT_THAT(node.events(), ElementsAre(std::string("add mdev/") + kNew, "add vfio/63",
                                         "add vfio-dev/vfio4", std::string("bind mdev/") + kNew));
  EXPECT_EQ(instances(node), "1\n");
  EXPECT_EQ(node.write(std::string("bus/mdev/devices/") + kNew + "/remove", "1\n"), 0);
  EXPECT_EQ(node.events().back(), std::string("remove mdev/") + kNew);
  EXPECT_FALSE(node.exists(std::string("sys/bus/mdev/devices/") + kNew));
  EXPECT_FALSE(node.exists("dev/vfio/63"));
  EXPECT_EQ(instances(node), "2\n");
}

TEST(Mediated, IsRefusedWithTheKernelsErrors) {
  Node61 node("vgpu");
  EXPECT_EQ(node.write(kCreate, std::string(kFirst) + "\n"), EEXIST);
  EXPECT_EQ(node.write(kCreate, "no-uuid\n"), EINVAL);
  for (const char last : {'4', '5'}) {
    EXPECT_EQ(node.write(kCreate, std::string("3f5e2c10-0001-4a5b-8c6d-00000000000") + last), 0);
  }
  EXPECT_EQ(node.write(kCreate, std::string(kNew) + "\n"), EUSERS);
  EXPECT_EQ(node.kernel.change([](World& world) {
    return createMediated(world, at("0000:21:00.0"), {kNew, "nvidia-711", {}});
  }),
            ENODEV)
      << "not on a host driver";
}

TEST(Mediated, InUseKeepsItsRemovalAndItsParentsUnbindWaiting) {
  Node61 node("vgpu");
  ASSERT_EQ(node.kernel.change([](World& world) { return openGroup(world, 60, "vm"); }), 0);
  EXPECT_EQ(node.write(std::string("bus/mdev/devices/") + kFirst + "/remove", "1\n"), kHangs);
  const TaskId removal = node.lastWrite;
  EXPECT_EQ(node.unbind(kParent, "nvidia"), kHangs);
  const TaskId unbind = node.lastWrite;
  ASSERT_EQ(node.kernel.change([](World& world) { return closeGroup(world, 60, "vm"); }), 0);
  EXPECT_EQ(node.end(removal), 0);
  EXPECT_EQ(node.end(unbind), 0);
  EXPECT_TRUE(node.kernel.world().mediated.empty()) << "they go with their parent's driver";
  EXPECT_FALSE(node.exists("sys/bus/pci/devices/0000:11:00.0/mdev_supported_types"));
}

}  // namespace
}  // namespace vfiogate::sim
