// Every usual way to write a device.

#include "cli/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Written {
  const char* text;
  const char* address;
};

TEST(DeviceName, ReadsEverySpellingOfAnAddress) {
  for (const Written& row : std::initializer_list<Written>{
           {"0000:65:00.0", "0000:65:00.0"},
           {"65:00.0", "0000:65:00.0"},
           {"0000:3B:00.1", "0000:3b:00.1"},
           {"3:0.1", "0000:03:00.1"},
           {"00000000:65:00.0", "0000:65:00.0"},
           {"10000:01:00.0", "10000:01:00.0"},
           {"pci_0000_65_00_0", "0000:65:00.0"},
           {"pci_10000_65_1f_7", "10000:65:1f.7"},
           {"pci-0000:65:00.0", "0000:65:00.0"},
           {"pci@0000:65:00.0", "0000:65:00.0"},
           {"/sys/bus/pci/devices/0000:65:00.0", "0000:65:00.0"},
           {"/sys/devices/pci0000:00/0000:00:1c.0/0000:65:00.0", "0000:65:00.0"},
       }) {
    const auto read = readAddress(row.text);
    ASSERT_TRUE(read) << row.text;
    EXPECT_EQ(read->str(), row.address) << row.text;
  }
}

TEST(DeviceName, SaysWhatIsWrongWithOneThatIsNone) {
  struct Row {
    const char* text;
    AddressTrouble trouble;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"65:20.0", AddressTrouble::kOutOfRange},
           {"65:00.8", AddressTrouble::kOutOfRange},
           {"0000:65:1f.10", AddressTrouble::kOutOfRange},
           {"65:00", AddressTrouble::kNoFunction},
           {"0000:65:00", AddressTrouble::kNoFunction},
           {"eth0", AddressTrouble::kOtherName},
           {"", AddressTrouble::kOtherName},
           {"65", AddressTrouble::kOtherName},
           {"65.00.0", AddressTrouble::kOtherName},
           {"0000:65:00.0 ", AddressTrouble::kOtherName},
           {"0000:65:00.g", AddressTrouble::kOtherName},
           {"0000:165:00.0", AddressTrouble::kOtherName},
           {"0:0000:65:00.0", AddressTrouble::kOtherName},
           {"pci_0000_65_00", AddressTrouble::kOtherName},
           {"10de:2684", AddressTrouble::kOtherName},
       }) {
    const auto read = readAddress(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_EQ(read.error(), row.trouble) << row.text;
  }
}

TEST(DeviceName, FindsTheFunctionOfAPath) {
  for (const Written& row : std::initializer_list<Written>{
           {"../../devices/pci0000:00/0000:00:1c.0/0000:03:00.0/net/eth0", "0000:03:00.0"},
           {"../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0", "0000:00:03.0"},
           {"../../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1",
            "0000:00:17.0"},
           {"0000:03:00.0", "0000:03:00.0"},
       }) {
    const auto found = functionInPath(row.text);
    ASSERT_TRUE(found) << row.text;
    EXPECT_EQ(found->str(), row.address);
  }
  EXPECT_FALSE(functionInPath("../../devices/virtual/net/lo"));
  EXPECT_FALSE(functionInPath(""));
}

/// A sysfs with a card of two functions in slot 4, a NIC, a disk and the loopback interface.
class FindDevice : public testing::Test {
protected:
  FindDevice() {
    for (const char* address : {"0000:65:00.0", "0000:65:00.1", "0000:03:00.0", "0000:04:00.0"}) {
      fs::create_directories(sysfs() / "bus/pci/devices" / address);
    }
    fs::create_directories(sysfs() / "bus/pci/slots/4");
    std::ofstream(sysfs() / "bus/pci/slots/4/address") << "0000:65:00\n";
    fs::create_directories(sysfs() / "bus/pci/slots/J7B1");
    std::ofstream(sysfs() / "bus/pci/slots/J7B1/address") << "0000:03:00\n";
    link("class/net/enp3s0", "../../devices/pci0000:00/0000:03:00.0/net/enp3s0");
    link("class/net/lo", "../../devices/virtual/net/lo");
    link("class/block/nvme0n1", "../../devices/pci0000:00/0000:04:00.0/nvme/nvme0/nvme0n1");
    link("class/nvme/nvme0", "../../devices/pci0000:00/0000:04:00.0/nvme/nvme0");
  }
  ~FindDevice() noexcept override = default;

  fs::path sysfs() const { return dir_ / "sys"; }
  /// What is found, or what is said instead.
  std::string find(const std::string& text) const {
    const auto found = findDevice(text, sysfs());
    return found ? found->str() : found.error();
  }

private:
  void link(const char* name, const char* to) const {
    fs::create_directories((sysfs() / name).parent_path());
    fs::create_symlink(to, sysfs() / name);
  }

  TempDir dir_;
};

TEST_F(FindDevice, ByWhateverItIsCalled) {
  for (const Written& row : std::initializer_list<Written>{
           {"65:00.1", "0000:65:00.1"},
           {"ff:00.0", "0000:ff:00.0"},  // a command says itself that it is not there
           {"03:00", "0000:03:00.0"},
           {"J7B1", "0000:03:00.0"},
           {"enp3s0", "0000:03:00.0"},
           {"nvme0n1", "0000:04:00.0"},
           {"/dev/nvme0n1", "0000:04:00.0"},
           {"nvme0", "0000:04:00.0"},
       }) {
    EXPECT_EQ(find(row.text), row.address) << row.text;
  }
}

TEST_F(FindDevice, OrSaysWhatWasTried) {
  const std::string below = sysfs();
  EXPECT_EQ(find("enp3s1"),
            "'enp3s1' is no device here: no PCI address (0000:65:00.0, 65:00.0, pci_0000_65_00_0), "
            "and no slot, network interface, disk, NVMe, DRM or InfiniBand device below " +
                below + ": did you mean 'enp3s0'? (privd list has what there is)");
  EXPECT_THAT(find("gp\x1b"), testing::StartsWith("'gp?' is no device here"));
  EXPECT_EQ(find("65:00"), "'65:00' has several functions: give one of 0000:65:00.0, 0000:65:00.1");
  EXPECT_EQ(find("4"), "'4' has several functions: give one of 0000:65:00.0, 0000:65:00.1");
  EXPECT_EQ(find("66:00"), "'66:00' is 0000:66:00.*, and no such device is below " + below +
                               " (privd list has what there is)");
  EXPECT_EQ(find("65:20.0"),
            "'65:20.0' is out of range: a bus has devices 00 to 1f, a device has functions 0 to 7");
  EXPECT_EQ(find("lo"),
            "'lo' is a network interface, but of no PCI device: it is "
            "../../devices/virtual/net/lo");
  EXPECT_THAT(find("65.00.1"), HasSubstr(": did you mean '65:00.1'?"));
  EXPECT_EQ(find("10de:2684"),
            "'10de:2684' is vendor:device, which several devices may have: privd list --select "
            "10de:2684 has their addresses");
  EXPECT_THAT(find("../../etc"), HasSubstr("is no device here"));
  EXPECT_THAT(find(""), HasSubstr("'' is no device here"));
}

TEST_F(FindDevice, SeveralAreFoundOnceEach) {
  const auto found = findDevices({"enp3s0", "65:00.0", "03:00.0"}, sysfs());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(1).str(), "0000:65:00.0");
  EXPECT_FALSE(findDevices({"enp3s0", "nothing"}, sysfs()));
}

constexpr const char* kUuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";

TEST_F(FindDevice, AMediatedDeviceIsAUnitByItsUuid) {
  for (const char* text : {kUuid, "3F5E2C10-0001-4A5B-8C6D-000000000001",
                           "/sys/bus/mdev/devices/3f5e2c10-0001-4a5b-8c6d-000000000001"}) {
    const auto unit = findUnit(text, sysfs());
    ASSERT_TRUE(unit) << unit.error();
    EXPECT_EQ(unit->str(), kUuid);
  }
  const auto both = findUnits({kUuid, "enp3s0", kUuid}, sysfs());
  ASSERT_TRUE(both) << both.error();
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ(both->at(1).str(), "0000:03:00.0");
}

TEST_F(FindDevice, WhatIsNearlyAUuidIsSaidToBeNone) {
  for (const char* text :
       {"3f5e2c10-0001-4a5b-8c6d-00000000000", "3f5e2c1g-0001-4a5b-8c6d-000000000001"}) {
    const auto unit = findUnit(text, sysfs());
    ASSERT_FALSE(unit);
    EXPECT_EQ(unit.error(), "'" + std::string(text) +
                                "' is no UUID of a mediated device: it has 8, 4, 4, 4 and 12 hex "
                                "digits, as the names below " +
                                sysfs().string() + "/bus/mdev/devices have");
  }
}

TEST_F(FindDevice, WhereDriversAreMeantAUuidIsRefused) {
  EXPECT_EQ(find(kUuid), "'" + std::string(kUuid) +
                             "' is the UUID of a mediated device, whose drivers are never changed: "
                             "privd hold, release, list and show take one");
}

}  // namespace
}  // namespace vfiogate
