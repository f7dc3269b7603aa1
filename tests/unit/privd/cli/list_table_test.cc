// What `privd list` shows, and how wide.

#include "privd/cli/base/list_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Bdf placeOf(const char* address) {
  return Bdf::parse(address).value();
}

/// Two cards, one of them on the host's driver, and a bridge.
NodeView twoCards() {
  NodeView view;
  view.names = PciIds::parse(
      "10de  NVIDIA Corporation\n\t2684  AD102 [GeForce RTX 4090]\n"
      "1022  Advanced Micro Devices, Inc. [AMD]\n"
      "C 03  Display controller\n\t00  VGA compatible controller\n");
  const auto add = [&view](const char* text, unsigned group, PciDevice device) {
    device.address = placeOf(text);
    device.group = IommuGroupId(group);
    view.snapshot.devices.emplace(device.address, device);
    view.snapshot.groups.emplace(IommuGroupId(group), IommuGroup{.id = IommuGroupId(group),
                                                                 .type = "DMA-FQ",
                                                                 .groupNode = true,
                                                                 .use = GroupUse::kIdle,
                                                                 .members = {device.address}});
  };
  PciDevice card{.address = placeOf("0000:01:00.0"),
                 .vendor = 0x10de,
                 .device = 0x2684,
                 .classCode = 0x030000,
                 .headerType = 0,
                 .driver = "nouveau",
                 .numaNode = 0,
                 .enableCount = 1};
  add("0000:01:00.0", 7, card);
  card.driver = "vfio-pci";
  card.vfioDev = 0;
  card.enableCount = 0;
  add("0000:02:00.0", 8, card);
  add("0000:00:01.0", 3,
      PciDevice{.address = placeOf("0000:00:01.0"),
                .vendor = 0x1022,
                .device = 0x1483,
                .classCode = 0x060400,
                .headerType = 1});
  return view;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ListTable, HasIdsBesideNamesAndNoBridges) {
  EXPECT_EQ(listTable(twoCards(), {}, 0, false),
            "GROUP  ADDRESS       CLASS                      DEVICE                              "
            "         DRIVER    NUMA  USE   STATE        REASON\n"
            "7      0000:01:00.0  VGA compatible controller  NVIDIA AD102 [GeForce RTX 4090] "
            "[10de:2684]  nouveau   0     idle  host-driver  bound to nouveau, not to a VFIO "
            "driver: bind its group to vfio-pci\n"
            "8      0000:02:00.0  VGA compatible controller  NVIDIA AD102 [GeForce RTX 4090] "
            "[10de:2684]  vfio-pci  0     idle  passable\n");
  EXPECT_THAT(listSummary(twoCards(), {}),
              HasSubstr("3 devices, 3 IOMMU groups, 1 can be passed through now\n"
                        "1 of them is a bridge or another part of the machine: --all"));
}

TEST(ListTable, FitsEightyColumnsWithTheReasonsBelow) {
  EXPECT_EQ(listTable(twoCards(), {}, 80, false),
            "GROUP  ADDRESS       DEVICE                                DRIVER    STATE\n"
            "7      0000:01:00.0  NVIDIA AD102 [GeForce... [10de:2684]  nouveau   host-driver\n"
            "       bound to nouveau, not to a VFIO driver: bind its group to vfio-pci\n"
            "8      0000:02:00.0  NVIDIA AD102 [GeForce... [10de:2684]  vfio-pci  passable\n");
}

TEST(ListTable, IsNoWiderThanTheTerminal) {
  for (std::size_t width = 80; width < 260; ++width) {
    for (const std::string& line : linesOf(listTable(twoCards(), {.all = true}, width, false))) {
      EXPECT_LE(line.size(), width) << line;
    }
  }
}

TEST(ListTable, HasMediatedDevicesInTheirGroups) {
  const Uuid uuid = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  NodeView view = twoCards();
  PciDevice& parent = view.snapshot.devices.at(placeOf("0000:01:00.0"));
  parent.driver = "nvidia";
  parent.mediated = {uuid};
  view.snapshot.mediated.emplace(uuid, MediatedDevice{.uuid = uuid,
                                                      .type = "nvidia-711",
                                                      .typeName = "NVIDIA A16-4Q",
                                                      .parent = parent.address,
                                                      .numaNode = 0,
                                                      .driver = "vfio_mdev",
                                                      .group = IommuGroupId(60)});
  view.snapshot.groups.emplace(IommuGroupId(60), IommuGroup{.id = IommuGroupId(60),
                                                            .type = "unknown",
                                                            .groupNode = true,
                                                            .use = GroupUse::kBlind,
                                                            .members = {},
                                                            .mediated = {uuid}});
  const auto lines = linesOf(listTable(view, {}, 0, false));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], HasSubstr("mediated-parent  stays bound to nvidia, which has made 1 "));
  EXPECT_THAT(lines[3],
              testing::StartsWith("60     3f5e2c10-0001-4a5b-8c6d-000000000001  mediated device"));
  EXPECT_THAT(lines[3], HasSubstr("NVIDIA A16-4Q of 0000:01:00.0"));
  EXPECT_THAT(lines[3], HasSubstr("vfio_mdev  0     blind  passable"));
  EXPECT_THAT(listSummary(view, {}),
              HasSubstr("3 devices, 1 mediated device, 4 IOMMU groups, 2 can be passed through"));
}

TEST(ListTable, CallsAVgpuByItsType) {
  NodeView view = twoCards();
  PciDevice& device = view.snapshot.devices.at(placeOf("0000:01:00.0"));
  device.driver = "nvidia";
  device.physicalFunction = placeOf("0000:11:00.0");
  device.vgpuType = 1147;
  EXPECT_THAT(linesOf(listTable(view, {}, 0, false))[1], HasSubstr("nvidia-1147 of 0000:11:00.0"));
  device.vgpuTypeName = "NVIDIA L40S-1Q";
  EXPECT_THAT(linesOf(listTable(view, {}, 0, false))[1],
              HasSubstr("NVIDIA L40S-1Q of 0000:11:00.0"));
}

std::vector<std::string> shown(const ListFilter& filter) {
  std::vector<std::string> addresses;
  const NodeView view = twoCards();
  for (const auto& [address, device] : view.snapshot.devices) {
    if (isShown(filter, view.snapshot, device)) addresses.push_back(address.str());
  }
  return addresses;
}

TEST(ListTable, IsFilteredByAddressSelectorAndState) {
  EXPECT_THAT(shown({}), ElementsAre("0000:01:00.0", "0000:02:00.0"));
  EXPECT_THAT(shown({.all = true}), ElementsAre("0000:00:01.0", "0000:01:00.0", "0000:02:00.0"));
  EXPECT_THAT(shown({.devices = {placeOf("0000:00:01.0")}}), ElementsAre("0000:00:01.0"));
  EXPECT_THAT(shown({.selectors = {Selector::parse("driver=nouveau").value(),
                                   Selector::parse("vendor=1022").value()}}),
              ElementsAre("0000:01:00.0"));
  EXPECT_THAT(shown({.states = {"passable"}}), ElementsAre("0000:02:00.0"));
  EXPECT_THAT(shown({.states = {"bridge", "host-driver"}}),
              ElementsAre("0000:00:01.0", "0000:01:00.0"));
  EXPECT_THAT(listSummary(twoCards(), {.states = {"passable"}}), HasSubstr("1 of them is shown"));
}

TEST(ListTable, AStateThatIsNoneIsRefusedWithTheNearestOne) {
  EXPECT_EQ(checkState("passable"), "");
  EXPECT_EQ(checkState("in-use"), "");
  EXPECT_THAT(checkState("pasable"), HasSubstr("'pasable' is no state: did you mean 'passable'?"));
  EXPECT_THAT(checkState("broken"), Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace vfiogate
