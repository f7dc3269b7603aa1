#include "privd/cli/list/topology_of.h"

#include "tests/support/hardware.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;
using testing::HasSubstr;

/// A board: what is behind what, as "0000:01:00.0" below "0000:00:01.0".
class TopologyOf : public testing::Test {
protected:
  PciDevice& endpoint(const char* address, std::uint32_t group, const char* behind = nullptr) {
    if (behind != nullptr) parents_.insert_or_assign(at(address), at(behind));
    return hardware_.add(address, group);
  }
  PciDevice& bridge(const char* address, std::uint32_t group, const char* behind = nullptr) {
    PciDevice& device = endpoint(address, group, behind);
    device.headerType = std::uint8_t{1};
    device.classCode = 0x060400;
    device.driver = "pcieport";
    device.vfioDev.reset();
    return device;
  }

  Topology made(bool all = false) const {
    const NodeView view{hardware_.snapshot(), {}};
    const ListFilter filter{.all = all};
    return topologyOf({.view = view, .parents = parents_, .holders = holders_, .filter = filter});
  }
  std::string text(bool all = false) const { return treeText(made(all), {}); }

  Hardware hardware_;
  Parents parents_;
  RecordedHolders holders_;
};

TEST_F(TopologyOf, HangsDevicesBehindPortsAndSwitches) {
  bridge("0000:00:01.0", 1).numaNode = 0;
  bridge("0000:01:00.0", 2, "0000:00:01.0");
  bridge("0000:02:00.0", 3, "0000:01:00.0");
  bridge("0000:02:01.0", 4, "0000:01:00.0");
  endpoint("0000:03:00.0", 5, "0000:02:00.0").numaNode = 0;
  endpoint("0000:04:00.0", 6, "0000:02:01.0").numaNode = 0;
  endpoint("0000:00:02.0", 7).numaNode = 0;
  EXPECT_EQ(text(), R"(NUMA node 0
`- pci0000:00
   |- 0000:00:02.0  group 7  passable  vfio-pci  [10de:2684]
   `- 0000:00:01.0  group 1  root port, [10de:2684]
      `- 0000:01:00.0  group 2  switch, [10de:2684]
         |- 0000:02:00.0  group 3  port, [10de:2684]
         |  `- 0000:03:00.0  group 5  passable  vfio-pci  [10de:2684]
         `- 0000:02:01.0  group 4  port, [10de:2684]
            `- 0000:04:00.0  group 6  passable  vfio-pci  [10de:2684]
7 PCI functions, 7 IOMMU groups, 3 can be passed through now
)");
}

TEST_F(TopologyOf, ParesItDownToWhatPeopleAskFor) {
  bridge("0000:00:01.0", 1);
  endpoint("0000:00:1f.0", 2).classCode = 0x060100;
  hardware_.device("0000:00:1f.0").driver.clear();
  hardware_.device("0000:00:1f.0").vfioDev.reset();
  EXPECT_EQ(text(),
            "2 PCI functions, 2 IOMMU groups, 0 can be passed through now\n"
            "Left out, and shown by --all: 2, parts of the machine and bridges with nothing behind "
            "them\n");
  EXPECT_THAT(text(true), HasSubstr("0000:00:1f.0  group 2  platform"));
  EXPECT_THAT(text(true), HasSubstr("0000:00:01.0  group 1  root port"));
}

TEST_F(TopologyOf, FramesEachNumaNode) {
  endpoint("0000:80:00.0", 1).numaNode = 1;
  endpoint("0000:00:03.0", 2).numaNode = 0;
  endpoint("0000:00:02.0", 3);
  bridge("0000:00:01.0", 4);  // the kernel says nothing of it, but of what is behind it
  endpoint("0000:01:00.0", 5, "0000:00:01.0").numaNode = 1;
  std::vector<std::string> titles;
  for (const TopologyPlace& node : made().nodes) titles.push_back(node.title);
  EXPECT_THAT(titles, ElementsAre("NUMA node 0", "NUMA node 1", "NUMA node not known"));
  EXPECT_EQ(made().nodes[1].below[0].below.size(), 1U);
}

TEST_F(TopologyOf, NamesWhoHasADevice) {
  endpoint("0000:01:00.0", 1);
  holders_.devices.emplace(at("0000:01:00.0"),
                           RecordedHolder{"default/vm-1", "a/gpu", "2026-11-23T10:42:07Z"});
  const TopologyDevice device = made().nodes[0].below[0].devices[0];
  EXPECT_EQ(device.holder, "default/vm-1 since 2026-11-23 10:42");
  EXPECT_EQ(device.mark, Mark::kHeld);
}

TEST_F(TopologyOf, SaysWhyNoHolderIsKnown) {
  endpoint("0000:01:00.0", 1);
  holders_.problem = "/run/vfiogate/devices: Permission denied";
  EXPECT_THAT(made().remarks,
              ElementsAre("Who has what is not known: /run/vfiogate/devices: Permission denied"));
}

TEST_F(TopologyOf, PutsTheMembersOfAGroupNextToEachOther) {
  endpoint("0000:00:02.0", 1);
  endpoint("0000:00:03.0", 2);
  endpoint("0000:00:04.0", 1);
  const auto parts = groupPartsOf(made().nodes[0].below[0]);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].count, 2U);
}

TEST_F(TopologyOf, SurvivesLinksThatMakeNoSense) {
  bridge("0000:00:01.0", 1, "0000:00:02.0");
  bridge("0000:00:02.0", 2, "0000:00:01.0");
  bridge("0000:00:03.0", 3, "0000:00:03.0");
  endpoint("0000:01:00.0", 4, "0000:00:09.0");  // behind one that is not there
  EXPECT_THAT(text(true), HasSubstr("0000:01:00.0  group 4  passable"));
}

TEST(ParentIn, ReadsTheLinkOfADevice) {
  const struct {
    const char* place;
    std::string parent;
  } kRows[] = {
      {"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", "0000:00:01.0"},
      {"../../../devices/pci0000:00/0000:00:01.0", ""},
      {"../../../devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0", ""},
      {"0000:01:00.0", ""},
      {"", ""},
      {"a/b/c", ""},
  };
  for (const auto& row : kRows) {
    const auto parent = parentIn(row.place);
    EXPECT_EQ(parent ? parent->str() : "", row.parent) << row.place;
  }
}

}  // namespace
}  // namespace vfiogate
