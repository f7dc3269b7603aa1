#include "sim/kubelet/base/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DeviceTable, OnlyTheExactWordIsHealthy) {
  DeviceTable table;
  table.take({{"a", "Healthy", {}}, {"b", "healthy", {}}, {"c", "", {}}, {"d", "Unhealthy", {}}});
  EXPECT_THAT(table.healthy(), ElementsAre("a"));
  EXPECT_THAT(table.unhealthy(), ElementsAre("b", "c", "d"));
}

TEST(DeviceTable, AFrameReplacesTheOneBefore) {
  DeviceTable table;
  table.take({{"a", "Healthy", {}}, {"b", "Unhealthy", {}}});
  table.take({{"b", "Healthy", {}}});
  EXPECT_THAT(table.healthy(), ElementsAre("b"));
  EXPECT_THAT(table.unhealthy(), IsEmpty());
  EXPECT_FALSE(table.lists("a"));
}

TEST(DeviceTable, K6_AnIdOfBothHealthsCountsTwice) {
  DeviceTable table;
  table.take({{"a", "Healthy", {0}}, {"a", "Unhealthy", {1}}});
  EXPECT_EQ(table.capacity(), 2U);
  EXPECT_EQ(table.allocatable(), 1U);
  EXPECT_THAT(table.nodesOf("a"), ElementsAre(1)) << "the last one gives the topology";
}

TEST(DeviceTable, AnEndedStreamLeavesTheCapacity) {
  DeviceTable table;
  table.take({{"a", "Healthy", {}}, {"b", "Unhealthy", {}}});
  table.disconnect();
  EXPECT_EQ(table.capacity(), 2U);
  EXPECT_EQ(table.allocatable(), 0U);
  EXPECT_TRUE(table.lists("a")) << "a lost plugin is no frame";
}

TEST(DeviceTable, ADeviceWithoutTopologyStandsUnderMinusOne) {
  DeviceTable table;
  table.take({{"a", "Healthy", {}}, {"b", "Healthy", {0, 1}}});
  EXPECT_THAT(table.nodesOf("a"), ElementsAre(-1));
  EXPECT_THAT(table.nodesOf("b"), ElementsAre(0, 1));
}

}  // namespace
}  // namespace vfiogate::sim
