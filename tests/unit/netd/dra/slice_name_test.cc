#include "netd/dra/slices/slice_name.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

TEST(SliceName, SaysNodeDriverAndPlace) {
  const std::string base = sliceNameBase("node-1.example", "vfio.example");
  EXPECT_EQ(sliceName(base, {SliceKind::kDevices, 7}), "node-1.example-vfio.example-007");
  EXPECT_EQ(sliceName(base, {SliceKind::kCounters, 1234}),
            "node-1.example-vfio.example-counters-1234");
}

TEST(SliceName, IsReadBackAndNothingElseIs) {
  const std::string base = sliceNameBase("n", "d");
  for (const SliceSlot slot :
       {SliceSlot{SliceKind::kDevices, 0}, SliceSlot{SliceKind::kDevices, 99999},
        SliceSlot{SliceKind::kCounters, 12}}) {
    EXPECT_EQ(sliceSlotOf(base, sliceName(base, slot)), slot);
  }
  for (const char* name : {"n-d", "n-d-", "n-d-7", "n-d-0007", "n-d-07x", "n-d--07", "m-d-000",
                           "n-d-counters", "n-d-99999999999999999999", "n-d-counter-000", ""}) {
    EXPECT_EQ(sliceSlotOf(base, name), std::nullopt) << name;
  }
}

TEST(SliceName, ALongNodeGivesAHashAndAValidName) {
  const std::string label(60, 'a');
  std::string node = label;
  while (node.size() + 61 <= 253) node += "." + label;
  const std::string driver(63, 'd');
  const std::string base = sliceNameBase(node, driver);
  EXPECT_LE(sliceName(base, {SliceKind::kCounters, 999999}).size(), 253U);
  EXPECT_NE(base, sliceNameBase(node + "b", driver));
  EXPECT_TRUE(base.ends_with("-" + driver));
  EXPECT_EQ(base.find(".-"), std::string::npos) << base;
  EXPECT_EQ(base.find("--"), std::string::npos) << base;
}

}  // namespace
}  // namespace vfiogate
