#include "privd/scan/device_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "privd/scan/pci_scan.h"
#include "privd/scan/snapshot_source.h"
#include "tests/support/fake_sysfs.h"

namespace vfiogate {
namespace {

const SlotNames kSlots{{"0000:3b:00", "4"},     {"0000:5d:00", "5"},  {"0000:60:00", "bay 1"},
                       {"0000:61:00", "bay 2"}, {"0000:70", "P1-C5"}, {"10000:01:00", "U2-1"}};

struct Row {
  const char* name;
  const char* path;
  const char* root;
  const char* rootPort;
  const char* slot;
  const char* physicalFunction = "";
};

class DevicePlaceOf : public testing::TestWithParam<Row> {};

TEST_P(DevicePlaceOf, IsToldByItsPath) {
  const Row& row = GetParam();
  const auto physical = Bdf::parse(row.physicalFunction);
  const DevicePlace place =
      placeOf(row.path, physical ? std::optional(*physical) : std::nullopt, kSlots);
  EXPECT_EQ(place.root, row.root);
  EXPECT_EQ(place.rootPort ? place.rootPort->str() : "", row.rootPort);
  EXPECT_EQ(place.slot, row.slot);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, DevicePlaceOf,
    testing::Values(
        Row{"OnTheRootBus", "../../../devices/pci0000:00/0000:00:1f.6", "pci0000:00", "", ""},
        Row{"BelowAPort", "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00",
            "0000:00:01.0", ""},
        Row{"CardInASlot", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "pci0000:3a",
            "0000:3a:00.0", "4"},
        Row{"ItsSecondFunction", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1",
            "pci0000:3a", "0000:3a:00.0", "4"},
        Row{"ThePortItself", "../../../devices/pci0000:3a/0000:3a:00.0", "pci0000:3a", "", ""},
        Row{"AnotherDeviceOfTheBus", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:01.0",
            "pci0000:3a", "0000:3a:00.0", ""},
        Row{"VirtualFunction", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:02.3",
            "pci0000:3a", "0000:3a:00.0", "4", "0000:3b:00.0"},
        Row{"VirtualFunctionOnTheNextBus", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3c:00.1",
            "pci0000:3a", "0000:3a:00.0", "4", "0000:3b:00.1"},
        Row{"CardWithItsOwnSwitch",
            "../../../devices/pci0000:5c/0000:5c:00.0/0000:5d:00.0/0000:5e:08.0/0000:5f:00.0",
            "pci0000:5c", "0000:5c:00.0", "5"},
        Row{"BayOfACardWithSlots",
            "../../../devices/pci0000:5c/0000:5c:00.0/0000:5d:00.0/0000:5e:10.0/0000:60:00.0",
            "pci0000:5c", "0000:5c:00.0", "bay 1"},
        Row{"SlotOfAWholeBus", "../../../devices/pci0000:6f/0000:6f:00.0/0000:70:03.0",
            "pci0000:6f", "0000:6f:00.0", "P1-C5"},
        Row{"BehindVmd",
            "../../../devices/pci0000:97/0000:97:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
            "pci0000:97", "10000:00:02.0", "U2-1"},
        Row{"OnVmdsRootBus", "../../../devices/pci0000:97/0000:97:00.5/pci10000:00/10000:00:02.0",
            "pci0000:97", "", ""},
        Row{"OfAnArmMachine",
            "../../../devices/platform/40000000.pcie/pci0000:00/0000:00:01.0/0000:01:00.0",
            "pci0000:00", "0000:00:01.0", ""},
        Row{"NoPath", "", "", "", ""},
        Row{"NoFunction", "../../../devices/pci0000:00", "pci0000:00", "", ""}),
    [](const auto& row) { return std::string(row.param.name); });

class Slots : public testing::Test {
protected:
  std::filesystem::path slot(const std::string& name) const {
    return std::filesystem::path(tree_.sysfs()) / "bus/pci/slots" / name;
  }
  SlotNames read() const { return readSlots(*SysfsRoot::open(tree_.sysfs())); }

  FakeSysfs tree_;
};

TEST_F(Slots, NoneWhereTheKernelHasNoSuchDirectory) {
  EXPECT_TRUE(read().empty());
}

TEST_F(Slots, HaveWhatPeopleCallThem) {
  tree_.addSlot("4", "0000:3b:00");
  tree_.addSlot("4-1", "0000:3C:00");
  tree_.addSlot("GPU slot 2", "10000:01:1f");
  tree_.addSlot("U78CB.001.WZS0-P1-C5", "0001:70");
  EXPECT_EQ(read(), (SlotNames{{"0000:3b:00", "4"},
                               {"0000:3c:00", "4-1"},
                               {"10000:01:1f", "GPU slot 2"},
                               {"0001:70", "U78CB.001.WZS0-P1-C5"}}));
}

TEST_F(Slots, OfNoUseAreLeftOut) {
  tree_.addSlot("beyond the bus", "0000:3b:20");
  tree_.addSlot("function", "0000:3b:00.0");
  tree_.addSlot("nothing", "");
  tree_.addSlot("words", "../../../etc/passwd");
  tree_.addSlot("control\x01", "0000:01:00");
  tree_.addSlot(std::string(65, 'x'), "0000:02:00");
  std::filesystem::create_directories(slot("without a file"));
  std::filesystem::create_directories(slot("directory/address"));
  std::ofstream(slot("file, no directory")) << "0000:04:00\n";
  tree_.addSlot("good", "0000:05:00");
  EXPECT_EQ(read(), (SlotNames{{"0000:05:00", "good"}}));
}

TEST_F(Slots, OfWhichSeveralSayThatTheyAreABusHaveNoName) {
  tree_.addSlot("P1-C5", "0001:70");
  EXPECT_EQ(read(), (SlotNames{{"0001:70", "P1-C5"}}));
  tree_.addSlot("P1-C6", "0001:70");
  tree_.addSlot("P1-C7", "0001:70");
  EXPECT_EQ(read(), (SlotNames{{"0001:70", ""}}));
}

TEST_F(Slots, AreBounded) {
  for (int i = 0; i < 1100; ++i) {
    char place[16];
    snprintf(place, sizeof place, "%04x:00:00", static_cast<unsigned>(i));
    tree_.addSlot("s" + std::to_string(i), place);
  }
  EXPECT_EQ(read().size(), 1024U);
}

TEST_F(Slots, AreSeenByAScanAndByEachSweep) {
  tree_.add({.address = "0000:01:00.0"});
  tree_.addSlot("4", "0000:01:00");
  const SysfsRoot sysfs = *SysfsRoot::open(tree_.sysfs());
  const DevRoot dev = *DevRoot::open(tree_.dev());
  const Bdf address = *Bdf::parse("0000:01:00.0");
  EXPECT_EQ(scanUnits(sysfs, dev)->devices.at(address).slot, "4");
  EXPECT_EQ(scan(sysfs, dev)->devices.at(address).slot, "") << "the binder knows no slots";

  ScanDeps deps = scanDeps(sysfs, dev);
  Snapshot seen;
  const auto slotNow = [&]() { return seen.devices.at(address).slot; };
  deps.reread(deps.everything(), seen);
  EXPECT_EQ(slotNow(), "4");
  tree_.removeSlot("4");
  EXPECT_FALSE(deps.reread({.devices = {address}, .groups = {}}, seen)) << "read once a sweep";
  EXPECT_EQ(slotNow(), "4");
  EXPECT_TRUE(deps.reread(deps.everything(), seen));
  EXPECT_EQ(slotNow(), "");
  tree_.addSlot("7", "0000:01:00");
  EXPECT_TRUE(deps.reread(deps.everything(), seen));
  EXPECT_EQ(slotNow(), "7");
}

}  // namespace
}  // namespace vfiogate
