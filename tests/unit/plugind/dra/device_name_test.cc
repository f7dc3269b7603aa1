#include "plugind/core/dra/device_attributes.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(DeviceName, IsTheAddressWithDashesAndReadsBack) {
  const std::pair<const char*, const char*> rows[] = {
      {"0000:17:00.0", "0000-17-00-0"},
      {"0000:ff:1f.7", "0000-ff-1f-7"},
      {"10000:e1:00.0", "10000-e1-00-0"},
      {"ffffffff:00:00.0", "ffffffff-00-00-0"},
  };
  for (const auto& [address, name] : rows) {
    const Bdf parsed = *Bdf::parse(address);
    EXPECT_EQ(deviceName(parsed), name);
    EXPECT_EQ(deviceAddress(name), parsed) << name;
  }
}

TEST(DeviceName, OfAMediatedDeviceIsItsUuid) {
  const UnitId id = *UnitId::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  EXPECT_EQ(deviceName(id), id.str());
  EXPECT_EQ(deviceAddress(id.str()), id);
  EXPECT_EQ(deviceAddress("3F5E2C10-0001-4A5B-8C6D-000000000001"), std::nullopt);
}

TEST(DeviceName, IsNothingElse) {
  for (const char* name : {"",
                           "-",
                           "0",
                           "-17-00-0",
                           "0000-17-00",
                           "0000-17-00-",
                           "0000-17-00-00",
                           "0000:17:00.0",
                           "0000-17-00.0",
                           "0000-17-20-0",
                           "0000-17-00-8",
                           "0000-1F-00-0",
                           "00000-17-00-0",
                           "000-17-00-0",
                           " 0000-17-00-0",
                           "0000-17-00-0 ",
                           "0000-17-00-0\n",
                           "0000_17_00_0",
                           "gggg-17-00-0",
                           "0000--7-00-0",
                           "100000000-17-00-0"}) {
    EXPECT_EQ(deviceAddress(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace vfiogate
