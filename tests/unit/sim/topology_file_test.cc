#include "sim/sysfs/topology/topology_file.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

class Shipped : public testing::TestWithParam<const char*> {};

TEST_P(Shipped, TopologyIsRead) {
  EXPECT_FALSE(shippedTopology(GetParam()).hardware.empty());
}

INSTANTIATE_TEST_SUITE_P(Files, Shipped,
                         testing::Values("one-gpu", "two-in-group", "nic-with-vfs", "eight-gpu",
                                         "eight-gpu-nvidia", "laptop", "laptop-one-gpu", "no-iommu",
                                         "root-nvme-nic", "root-nvme-shared", "slots",
                                         "thunderbolt"),
                         [](const auto& row) {
                           std::string name = row.param;
                           for (char& letter : name) {
                             if (letter == '-') letter = '_';
                           }
                           return name;
                         });

/// A device whose keys `rest`, in line 3.
std::string onDevice(const std::string& rest) {
  return "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"030000\",\n     " +
         rest + "}\n";
}

struct Bad {
  const char* name;
  std::string text;
  int line;
  const char* why;  ///< part of the reason
};

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class Refused : public testing::TestWithParam<Bad> {};

TEST_P(Refused, WithLineAndReason) {
  const auto parsed = parseTopology(GetParam().text);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().line, GetParam().line) << parsed.error().why;
  EXPECT_THAT(parsed.error().why, testing::HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    Form, Refused,
    testing::Values(
        Bad{"NotYaml", "devices:\n  - {address: [\n", 3, "not YAML"},
        Bad{"NoMapping", "- a\n- b\n", 1, "a topology must be a mapping"},
        Bad{"UnknownKey", "kernel: \"6.1\"\ndevizes: []\n", 2, "\"devizes\" is no key"},
        Bad{"KeyTwice", "cdev: true\ncdev: false\n", 2, "stands there twice"},
        Bad{"UnknownKernel", "kernel: \"5.10\"\n", 1, "none of: 6.1, 6.12, 7.2"},
        Bad{"NoFlag", "cdev: maybe\n", 1, "\"maybe\" is none of: false, true"},
        Bad{"NoNodes", "numaNodes: 0\n", 1, "at least 1"},
        Bad{"ManyNodes", "numaNodes: 65\n", 1, "no number from 0 to 64"},
        Bad{"DevicesNoList", "devices: {a: b}\n", 1, "devices must be a list"},
        Bad{"DriverWithoutName", "drivers:\n  - {kind: host}\n", 2, "needs a name"},
        Bad{"DriverKind", "drivers:\n  - {name: a, kind: guest}\n", 2, "host, vfio, stub, port"},
        Bad{"DriverTwice", "drivers:\n  - {name: a}\n  - {name: a}\n", 3, "twice"},
        Bad{"DriverId", "drivers:\n  - {name: a, ids: [\"10de\"]}\n", 2, "no pair of ids"},
        Bad{"DriverClass", "drivers:\n  - {name: a, ids: [\"class=3\"]}\n", 2, "2, 4 or 6"},
        Bad{"DriverVendor", "drivers:\n  - {name: a, ids: [\"xxxx:*\"]}\n", 2, "a vendor has 4"},
        Bad{"ModuleOfAnotherWord", "drivers:\n  - {name: a, module: outside}\n", 2,
            "none of: builtin"},
        Bad{"DiskWithoutNumber", onDevice("block: [{name: sda, parent: ata1}]"), 3,
            "a disk needs a name and a dev"},
        Bad{"DiskWithoutParent", onDevice("block: [{name: sda, dev: \"8:0\"}]"), 3,
            "a disk needs a parent"},
        Bad{"DiskNumber", onDevice("block: [{name: sda, parent: ata1, dev: \"8\"}]"), 3,
            "is no device number"},
        Bad{"InterfaceFlags", onDevice("net: [{name: eth0, flags: up}]"), 3,
            "write a hexadecimal number"},
        Bad{"VirtualDiskKey", "virtualDisks:\n  - {name: dm-0, dev: \"253:0\", slaves: []}\n", 2,
            "\"slaves\" is no key"},
        Bad{"SlotWithoutName", "slots:\n  - {address: \"0000:01:00\"}\n", 2, "needs a name"},
        Bad{"SlotTwice", "slots:\n  - {name: a}\n  - {name: a}\n", 3, "stands there twice"},
        Bad{"SlotWithSlash", "slots:\n  - {name: a/b}\n", 2, "that of a directory"},
        Bad{"SlotOfNoPort", "slots:\n  - {name: a, port: \"0000:00:01.0\"}\n", 2, "is no bridge"},
        Bad{"DeviceNoMapping", "devices:\n  - gpu\n", 2, "a device must be a mapping"},
        Bad{"DeviceWithoutId", "devices:\n  - {address: \"0000:01:00.0\"}\n", 2,
            "needs an address"},
        Bad{"DeviceWithoutClass", "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:1\"}\n", 2,
            "no pair of ids"},
        Bad{"NoClass", "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\"}\n", 2,
            "needs a class"},
        Bad{"NoAddress", "devices:\n  - {address: \"01:00.0\", id: \"10de:2684\"}\n", 2,
            "is no PCI address"},
        Bad{"DeviceNumber32",
            "devices:\n  - {address: \"0000:01:20.0\", id: \"10de:2684\", class: \"030000\"}\n", 2,
            "is no PCI address"},
        Bad{"ClassTooShort",
            "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"0300\"}\n", 2,
            "not 6 hexadecimal digits"},
        Bad{"ResetMethod",
            "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"030000\",\n"
            "     reset: [kick]}\n",
            3, "\"kick\" is none of"},
        Bad{"SriovWithoutDevice",
            "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"030000\",\n"
            "     sriov: {total: 4}}\n",
            3, "sriov needs total"},
        Bad{"SriovOfNone",
            "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"030000\",\n"
            "     sriov: {total: 0, device: \"1234\"}}\n",
            3, "at least 1"}),
    [](const auto& row) { return row.param.name; });

constexpr const char* kPort =
    "devices:\n  - {address: \"0000:00:01.0\", id: \"8086:1901\", bridge: true}\n";

/// A device in line 3, behind the port of line 2.
std::string behindPort(const std::string& rest, const std::string& address = "0000:01:00.0") {
  return std::string(kPort) + "  - {address: \"" + address +
         "\", id: \"10de:2684\", class: \"030000\", behind: \"0000:00:01.0\"" + rest + "}\n";
}

struct Impossible {
  const char* name;
  std::string text;
  int line;
  const char* why;
};

void PrintTo(const Impossible& impossible, std::ostream* out) {
  *out << impossible.name;
}

class RefusedHardware : public testing::TestWithParam<Impossible> {};

TEST_P(RefusedHardware, WithLineAndReason) {
  const auto parsed = parseTopology(GetParam().text);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().line, GetParam().line) << parsed.error().why;
  EXPECT_THAT(parsed.error().why, testing::HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    Between, RefusedHardware,
    testing::Values(
        Impossible{"AddressTwice",
                   behindPort("") + behindPort("").substr(std::string(kPort).size()), 4,
                   "stands there already, in line 3"},
        Impossible{
            "UnknownBridge",
            "devices:\n  - {address: \"0000:01:00.0\", id: \"10de:2684\", class: \"030000\", "
            "behind: \"0000:00:01.0\"}\n",
            2, "is no device of this file"},
        Impossible{"BehindAnEndpoint",
                   behindPort("") +
                       "  - {address: \"0000:02:00.0\", id: \"10de:2684\", class: \"030000\", "
                       "behind: \"0000:01:00.0\"}\n",
                   4, "is no bridge"},
        Impossible{"OtherSegment", behindPort("", "0001:01:00.0"), 3, "another segment"},
        Impossible{"BridgesOwnBus", behindPort("", "0000:00:03.0"), 3, "higher bus number"},
        Impossible{"BehindItself",
                   "devices:\n  - {address: \"0000:00:01.0\", id: \"8086:1901\", bridge: true, "
                   "behind: \"0000:00:01.0\"}\n",
                   2, "higher bus number"},
        Impossible{"AbsentBridge",
                   "devices:\n  - {address: \"0000:00:01.0\", id: \"8086:1901\", bridge: true, "
                   "present: false}\n" +
                       behindPort("").substr(std::string(kPort).size()),
                   3, "is not present"},
        Impossible{"BusInTwoPlaces",
                   behindPort("") +
                       "  - {address: \"0000:01:01.0\", id: \"10de:2684\", class: \"030000\"}\n",
                   3, "one bus is behind one bridge"},
        Impossible{"FunctionWithoutFirst", behindPort("", "0000:01:00.1"), 3, "without function 0"},
        Impossible{"UnknownDriver", behindPort(", driver: nvidia"), 3, "not among the drivers"},
        Impossible{"DriverNotLoaded",
                   "drivers: [{name: nvidia, loaded: false}]\n" + behindPort(", driver: nvidia"), 4,
                   "not loaded at boot"},
        Impossible{"VfioWithoutGroup",
                   "drivers: [{name: vfio-pci, kind: vfio}]\n" + behindPort(", driver: vfio-pci"),
                   4, "no device without a group"},
        Impossible{"GroupWithoutIommu", "iommu: \"off\"\n" + behindPort(", group: 1"), 4,
                   "none unless iommu is on"},
        Impossible{"NodeThatIsNotThere", behindPort(", numa: 1"), 3, "not below numaNodes"},
        Impossible{"TwoBootVgas",
                   behindPort(", bootVga: true") +
                       "  - {address: \"0000:01:01.0\", id: \"10de:2684\", class: \"030000\", "
                       "behind: \"0000:00:01.0\", bootVga: true}\n",
                   4, "is that already"},
        Impossible{"InterfaceTwice", behindPort(", net: [{name: eth0}, {name: eth0}]"), 3,
                   "net eth0 stands there twice"},
        Impossible{
            "DiskAndPartitionOfOneName",
            behindPort(", block: [{name: sda, parent: ata1, dev: \"8:0\", partitions: [sda]}]"), 3,
            "block sda stands there twice"},
        Impossible{"VirtualFunctionsBeyondTheLastBus",
                   behindPort(", sriov: {total: 256, device: \"1234\", stride: 256}"), 3,
                   "beyond bus ff"},
        Impossible{"VirtualFunctionOnADevice",
                   behindPort(", sriov: {total: 9, device: \"1234\"}") +
                       "  - {address: \"0000:01:01.0\", id: \"10de:2684\", class: \"030000\", "
                       "behind: \"0000:00:01.0\"}\n",
                   3, "which is described too"}),
    [](const auto& row) { return row.param.name; });

// pci_device_add(): the node of the bus that it is on.
TEST(Nodes, AreThoseOfTheBridgeAboveWhereNoneIsNamed) {
  const auto parsed = parseTopology(
      "numaNodes: 2\ndevices:\n"
      "  - {address: \"0000:00:01.0\", id: \"8086:1901\", bridge: true, numa: 1}\n"
      "  - {address: \"0000:00:02.0\", id: \"8086:1901\", bridge: true}\n"
      "  - {address: \"0000:01:00.0\", id: \"8086:1901\", bridge: true, behind: \"0000:00:01.0\"}\n"
      "  - {address: \"0000:02:00.0\", id: \"10de:2684\", class: \"030000\", behind: "
      "\"0000:01:00.0\"}\n"
      "  - {address: \"0000:02:01.0\", id: \"10de:2684\", class: \"030000\", behind: "
      "\"0000:01:00.0\", numa: 0}\n"
      "  - {address: \"0000:03:00.0\", id: \"10de:2684\", class: \"030000\", behind: "
      "\"0000:00:02.0\"}\n");
  ASSERT_TRUE(parsed) << parsed.error().why;
  const auto nodeOf = [&](const char* address) {
    return parsed->hardware.at(*Bdf::parse(address)).numa;
  };
  EXPECT_EQ(nodeOf("0000:02:00.0"), 1);
  EXPECT_EQ(nodeOf("0000:02:01.0"), 0);
  EXPECT_EQ(nodeOf("0000:03:00.0"), -1);
}

}  // namespace
}  // namespace vfiogate::sim
