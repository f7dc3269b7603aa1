#include "cli/pci_ids.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

constexpr std::string_view kText =
    "# comment\n"
    "10de  NVIDIA Corporation\n"
    "\t2684  AD102 [GeForce RTX 4090]\n"
    "\t\t10de 16f4  Founders Edition\n"
    "\tzzzz  not a device\n"
    "8086  Intel Corporation\n"
    "\t0d57\n"
    "C 03  Display controller\n"
    "\t00  VGA compatible controller\n"
    "\t\t00  VGA controller\n"
    "\t02  3D controller\n"
    "garbage\n"
    "\t9999  nobody's\n";

TEST(PciIds, NamesVendorsDevicesAndClasses) {
  const PciIds ids = PciIds::parse(kText);
  EXPECT_EQ(ids.vendor(0x10de), "NVIDIA Corporation");
  EXPECT_EQ(ids.device(0x10de, 0x2684), "AD102 [GeForce RTX 4090]");
  EXPECT_EQ(ids.className(0x030000), "VGA compatible controller");
  EXPECT_EQ(ids.className(0x030200), "3D controller");
  EXPECT_EQ(ids.className(0x03ff00), "Display controller");
}

TEST(PciIds, PassesOverWhatMakesNoSense) {
  const PciIds ids = PciIds::parse(kText);
  EXPECT_EQ(ids.device(0x8086, 0x0d57), std::nullopt);
  EXPECT_EQ(ids.vendor(0x9999), std::nullopt);
  EXPECT_EQ(ids.className(0x990000), std::nullopt);
}

TEST(PciIds, VendorsAreSaidAsPeopleSayThem) {
  for (const auto& [name, brief] : std::initializer_list<std::pair<const char*, const char*>>{
           {"NVIDIA Corporation", "NVIDIA"},
           {"Intel Corporation", "Intel"},
           {"Advanced Micro Devices, Inc. [AMD/ATI]", "AMD/ATI"},
           {"Mellanox Technologies", "Mellanox"},
           {"Red Hat, Inc.", "Red Hat"},
           {"Broadcom Inc. and subsidiaries", "Broadcom"},
           {"Realtek Semiconductor Co., Ltd.", "Realtek Semiconductor"},
           {"Samsung Electronics Co Ltd", "Samsung Electronics"},
           {"Micron Technology Inc", "Micron"},
           {"SK hynix", "SK hynix"},
           {"Cisco", "Cisco"},
           {"Inc.", "Inc."},
           {"", ""},
       }) {
    EXPECT_EQ(briefVendor(name), brief);
  }
}

TEST(PciIds, WithoutAFileNothingIsKnown) {
  EXPECT_EQ(PciIds::load("/nonexistent").vendor(0x10de), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
