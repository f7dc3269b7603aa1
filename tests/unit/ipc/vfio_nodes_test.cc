#include "ipc/types/vfio_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hardware.h"

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;

TEST(VfioNodes, NameEachNodeOnceWithTheControlNodeFirst) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("0000:01:00.1", 12);
  hardware.add("0000:02:00.0", 9);
  const auto nodes =
      vfioNodes(hardware.snapshot(), {at("0000:01:00.0"), at("0000:01:00.1"), at("0000:02:00.0")},
                Backend::kAuto);
  ASSERT_TRUE(nodes);
  EXPECT_THAT(pathsOf(*nodes), ElementsAre("/dev/vfio/vfio", "/dev/vfio/9", "/dev/vfio/12"));
}

TEST(VfioNodes, AreAbsentWhereOneDeviceIsOrCannotBeAllocated) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  const Snapshot snapshot = hardware.snapshot();
  EXPECT_FALSE(vfioNodes(snapshot, {at("0000:01:00.0"), at("0000:09:00.0")}, Backend::kAuto));
  Snapshot nodeless = snapshot;
  nodeless.controlNode = false;
  EXPECT_FALSE(vfioNodes(nodeless, {at("0000:01:00.0")}, Backend::kLegacy));
  Snapshot taken = snapshot;
  taken.devices.at(at("0000:01:00.0")).driver = "nvidia";
  taken.devices.at(at("0000:01:00.0")).vfioDev.reset();
  EXPECT_FALSE(vfioNodes(taken, {at("0000:01:00.0")}, Backend::kAuto));
}

}  // namespace
}  // namespace vfiogate
