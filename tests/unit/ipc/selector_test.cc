#include "ipc/types/selector.h"

#include <gtest/gtest.h>

#include "tests/support/hardware.h"

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;

Selector parsed(std::string_view text) {
  const auto selector = Selector::parse(text);
  if (selector) return *selector;
  ADD_FAILURE() << text << ": " << selector.error().text;
  return {};
}

/// A card that answers every key.
PciDevice card() {
  Hardware hardware;
  PciDevice device = hardware.add("0000:3b:00.1", 7);
  device.vendor = std::uint16_t{0x10de};
  device.device = std::uint16_t{0x00af};
  device.subvendor = std::uint16_t{0x1043};
  device.subdevice = std::uint16_t{0x0010};
  device.classCode = 0x030200;
  device.driver = "vfio-pci";
  device.pcieRoot = "pci0000:3a";
  device.numaNode = 1;
  device.sriov = SriovRole::kVirtualFunction;
  return device;
}

TEST(Selector, MatchesByTheRulesOfItsKeys) {
  struct Row {
    const char* text;
    bool want;
  };
  const Row rows[] = {
      {"vendor=10de", true},
      {"vendor=0X10DE", true},
      {"vendor=10df", false},
      {"10de:00af", true},
      {"10DE:00AF", true},
      {"10de:00ae", false},
      {"vendor=10de,device=00af", true},
      {"vendor=10de,device=00ae", false},
      {"device=00ae,device=00af", true},
      {"vendor=8086,vendor=10de,device=00ae", false},
      {"subvendor=1043,subdevice=0010", true},
      {"subdevice=0011", false},
      {"class=03", true},
      {"class=0302", true},
      {"class=0x030200", true},
      {"class=0300", false},
      {"class=02,class=03", true},
      {"driver=vfio-pci", true},
      {"driver=vfio", false},
      {"address=0000:3b:00.1", true},
      {"address=0000:3B:00.1", true},
      {"address=0000:3b:00.0", false},
      {"address=0000:3b:*", true},
      {"address=*.1", true},
      {"address=*:00.*", true},
      {"address=*3b*0*1", true},
      {"address=0000:3c:*", false},
      {"address=*", true},
      {"root=pci0000:3a", true},
      {"root=pci0000:3b", false},
      {"numa=1", true},
      {"numa=0,numa=1", true},
      {"numa=11", false},
      {"sriov=vf", true},
      {"sriov=pf,sriov=none", false},
  };
  for (const Row& row : rows) EXPECT_EQ(matches(parsed(row.text), card()), row.want) << row.text;
}

TEST(Selector, MatchesNothingByWhatSysfsDoesNotSay) {
  const PciDevice blank{.address = at("0000:00:01.0")};
  for (const char* text : {"vendor=0000", "device=0000", "subvendor=0000", "subdevice=0000",
                           "class=00", "driver=vfio-pci", "root=pci0000:00", "numa=0"}) {
    EXPECT_FALSE(matches(parsed(text), blank)) << text;
  }
  EXPECT_TRUE(matches(parsed("sriov=none"), blank));
}

TEST(Selector, WithoutAnyKeyMatchesEverything) {
  EXPECT_TRUE(Selector().empty());
  EXPECT_TRUE(matches(Selector(), card()));
}

TEST(Selector, SpellsItsValuesInOneWay) {
  EXPECT_EQ(parsed("10DE:00AF"), parsed("vendor=0x10de,device=00af"));
  EXPECT_EQ(parsed("vendor=10de,vendor=10DE"), parsed("vendor=10de"));
  EXPECT_EQ(parsed("address=0000:3B:00.1"), parsed("address=0000:3b:00.1"));
  EXPECT_EQ(parsed("numa=01"), parsed("numa=1"));
}

TEST(Selector, RefusesWhatItCannotMean) {
  const char* const texts[] = {
      "",
      "vendor",
      "vendor=",
      "=10de",
      "vendor=10de,",
      ",vendor=10de",
      "vendor =10de",
      "vendor=10d",
      "vendor=10deg",
      "vendor=0x",
      "vendor=0x010de",
      "10de:268",
      "10de:268g",
      "10de:2684,class=03",
      "class=0",
      "class=0302000",
      "driver=",
      "driver=../vfio",
      "address=",
      "address=3b:00.0",
      "address=0000:3b:20.0",
      "address=0000:3b:00.8",
      "address=0000;*",
      "root=0000:00",
      "root=pci*",
      "numa=-1",
      "numa=4294967296",
      "sriov=yes",
      "Vendor=10de",
      "slot=",
      "slot=..",
      "slot=4\x7f",
      "slot=12345678901234567890123456789012345678901234567890123456789012345",
      "rootPort=",
      "rootPort=3a:00.0",
      "rootPort=0000:3a:*",
      "rootport=0000:3a:00.0",
      "mdev=",
      "mdev=nvidia;63",
      "vgpu=",
      "vgpu=1147;",
      "product=",
      "product=\x7f",
      "address=*0000000000000000000000000000000000000000000000000000000000000000",
  };
  for (const char* text : texts) EXPECT_FALSE(Selector::parse(text)) << text;
}

TEST(Selector, OfProductIsByPciIdsAlone) {
  const PciDevice device{.address = *Bdf::parse("0000:01:00.0"), .vendor = 0x10de};
  const std::string name = "AD102 [GeForce RTX 4090]";
  for (const char* covering : {"product=*RTX 4090*", "product=AD102_[GeForce_RTX_4090]",
                               "product=*", "vendor=10de,product=AD102*"}) {
    EXPECT_TRUE(matches(*Selector::parse(covering), device, name)) << covering;
    EXPECT_FALSE(matches(*Selector::parse(covering), device)) << covering << ", and it has no name";
  }
  for (const char* other : {"product=RTX 4090", "product=ad102*", "vendor=1002,product=*"}) {
    EXPECT_FALSE(matches(*Selector::parse(other), device, name)) << other;
  }
  const auto refused = functionSelector("product=AD102*");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "product is for plugind's configuration: select by vendor and device here");
}

TEST(Selector, OfSlotIsByItsName) {
  PciDevice device{.address = at("0000:3b:00.0"), .vendor = 0x10de};
  for (const char* any : {"slot=*", "slot=4"}) EXPECT_FALSE(matches(parsed(any), device)) << any;
  device.slot = "GPU slot 4-1";
  struct Row {
    const char* text;
    bool want;
  };
  for (const Row& row : {Row{"slot=GPU slot 4-1", true}, Row{"slot=*", true}, Row{"slot=*4*", true},
                         Row{"slot=3,slot=GPU*", true}, Row{"vendor=10de,slot=*-1", true},
                         Row{"slot=GPU slot 4", false}, Row{"slot=4", false},
                         Row{"slot=gpu slot 4-1", false}, Row{"vendor=8086,slot=*", false}}) {
    EXPECT_EQ(matches(parsed(row.text), device), row.want) << row.text;
  }
  const auto refused = functionSelector("vendor=10de,slot=4");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "slot is for plugind's configuration: select by address or rootPort here");
}

TEST(Selector, OfRootPortIsByItsAddress) {
  PciDevice device{.address = at("0000:3b:00.0")};
  EXPECT_FALSE(matches(parsed("rootPort=0000:3a:00.0"), device)) << "on the root bus";
  device.rootPort = at("0000:3a:00.0");
  EXPECT_TRUE(matches(parsed("rootPort=0000:3A:00.0"), device));
  EXPECT_FALSE(matches(parsed("rootPort=0000:3a:00.1"), device));
  EXPECT_TRUE(functionSelector("rootPort=0000:3a:00.0"));
}

TEST(Selector, OfSerialIsByWhatTheCardTells) {
  const PciDevice device{.address = at("0000:3b:00.0"), .vendor = 0x10de};
  for (const char* text : {"serial=MT 1", "serial=0,serial=MT 1", "vendor=10de,serial=MT 1"}) {
    EXPECT_TRUE(matches(parsed(text), device, {}, "MT 1")) << text;
    EXPECT_FALSE(matches(parsed(text), device)) << text << ", and nobody knows it";
    EXPECT_TRUE(matches(parsed(text), device, {}, std::nullopt)) << text << ", whatever it is";
  }
  for (const char* text : {"serial=MT", "serial=mt 1", "serial=*", "vendor=8086,serial=MT 1"}) {
    EXPECT_FALSE(matches(parsed(text), device, {}, "MT 1")) << text;
  }
  EXPECT_FALSE(matches(parsed("vendor=8086,serial=MT 1"), device, {}, std::nullopt));
  const auto refused = functionSelector("vendor=10de,serial=MT1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "serial is for plugind's configuration: select by address or rootPort here");
  EXPECT_TRUE(selectsSerials(parsed("serial=MT1")));
  EXPECT_FALSE(selectsSerials(parsed("vendor=10de")));
}

TEST(Selector, ASerialNumberIsALineOfVisibleCharacters) {
  EXPECT_TRUE(isSerialNumber("S4EVNX0N 123-456/A"));
  EXPECT_TRUE(isSerialNumber(std::string(64, 's')));
  for (const std::string& text :
       {std::string(), std::string(" A"), std::string("A "), std::string("A\tB"),
        std::string("\xc3\xa9"), std::string(65, 's'), std::string("A\0B", 3)}) {
    EXPECT_FALSE(isSerialNumber(text)) << text;
  }
}

TEST(Selector, OfMdevIsOfMediatedDevicesByTypeOrName) {
  const Bdf address = *Bdf::parse("0000:11:00.0");
  Snapshot snapshot;
  snapshot.devices.emplace(address, PciDevice{.address = address, .vendor = 0x10de, .numaNode = 1});
  const MediatedDevice device{.uuid = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001"),
                              .type = "nvidia-711",
                              .typeName = "NVIDIA A16-4Q",
                              .parent = address};
  struct Row {
    const char* text;
    bool want;
  };
  for (const Row& row : {Row{"mdev=nvidia-711", true}, Row{"mdev=NVIDIA A16-4Q", true},
                         Row{"mdev=NVIDIA_A16-4Q", true}, Row{"mdev=NVIDIA A16-*", true},
                         Row{"mdev=nvidia-709,mdev=nvidia-711", true}, Row{"mdev=nvidia-71", false},
                         Row{"mdev=nvidia-711,vendor=10de,numa=1", true},
                         Row{"mdev=nvidia-711,address=0000:11:*", true},
                         Row{"mdev=nvidia-711,numa=0", false}, Row{"vendor=10de", false}}) {
    EXPECT_EQ(matches(*Selector::parse(row.text), snapshot, device), row.want) << row.text;
  }
  EXPECT_FALSE(matches(*Selector::parse("mdev=*"), snapshot.devices.at(address)));
  MediatedDevice orphan = device;
  orphan.parent.reset();
  EXPECT_TRUE(matches(*Selector::parse("mdev=nvidia-711"), snapshot, orphan));
  EXPECT_FALSE(matches(*Selector::parse("mdev=nvidia-711,numa=1"), snapshot, orphan));
}

TEST(Selector, OfVgpuIsByTheNumberOrTheNameOfItsType) {
  PciDevice device{.address = at("0000:11:00.4"), .vendor = 0x10de, .driver = "nvidia"};
  device.vgpuType = 1147;
  device.vgpuTypeName = "NVIDIA L40S-1Q";
  struct Row {
    const char* text;
    bool want;
  };
  for (const Row& row :
       {Row{"vgpu=1147", true}, Row{"vgpu=NVIDIA L40S-1Q", true}, Row{"vgpu=NVIDIA_L40S-1Q", true},
        Row{"vgpu=NVIDIA L40S-*", true}, Row{"vgpu=1145,vgpu=1147", true}, Row{"vgpu=114", false},
        Row{"vgpu=*,driver=nvidia", true}, Row{"vgpu=1147,vendor=8086", false},
        Row{"vendor=10de", true}, Row{"mdev=*", false}}) {
    EXPECT_EQ(matches(parsed(row.text), device), row.want) << row.text;
  }
  device.vgpuTypeName.clear();
  EXPECT_TRUE(matches(parsed("vgpu=1147"), device)) << "its name is not told";
  EXPECT_FALSE(matches(parsed("vgpu=NVIDIA L40S-1Q"), device));
  device.vgpuType = 0;
  EXPECT_FALSE(matches(parsed("vgpu=*"), device)) << "no type is set";
  EXPECT_FALSE(matches(parsed("vgpu=0"), device));
  EXPECT_FALSE(matches(parsed("vgpu=*"), card())) << "no vGPU";
}

TEST(Selector, OfFunctionsRefusesMdev) {
  EXPECT_TRUE(functionSelector("vendor=10de"));
  const auto refused = functionSelector("vendor=10de,mdev=nvidia-711");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "mdev selects mediated devices, which are never bound: select their parent");
}

TEST(Selector, SaysWhatWouldMendIt) {
  struct Row {
    const char* text;
    const char* want;
  };
  const Row rows[] = {
      {"vendor=10d", "in \"vendor=10d\": found \"10d\"; write 4 hex digits such as 10de"},
      {"vender=10de",
       "in \"vender=10de\": unknown key \"vender\"; the keys are vendor device subvendor subdevice "
       "class driver address root numa sriov mdev vgpu product slot rootPort serial"},
      {"slot=a/b",
       "in \"slot=a/b\": found \"a/b\"; write a slot's name as /sys/bus/pci/slots has it, such as "
       "4, "
       "or 4*"},
      {"rootPort=pci0000:3a",
       "in \"rootPort=pci0000:3a\": found \"pci0000:3a\"; write the address of the bridge on the "
       "root bus, such as 0000:3a:00.0"},
      {"gpu", "found \"gpu\"; write key=value, or 10de:2684 alone"},
      {"numa=\x1b[31m", "in \"numa=?[31m\": found \"?[31m\"; write a NUMA node's number such as 0"},
  };
  for (const Row& row : rows) {
    const auto selector = Selector::parse(row.text);
    ASSERT_FALSE(selector) << row.text;
    EXPECT_EQ(selector.error().text, row.want);
  }
}

TEST(SelectorPattern, EndsOnHostilePatternsSoon) {
  std::string pattern;
  for (int i = 0; i < 32; ++i) pattern += "*0";
  EXPECT_FALSE(matchesPattern(pattern + "1", std::string(4096, '0')));
  EXPECT_TRUE(matchesPattern(pattern, std::string(4096, '0')));
  EXPECT_TRUE(matchesPattern("**", ""));
  EXPECT_FALSE(matchesPattern("", "0"));
}

}  // namespace
}  // namespace vfiogate
