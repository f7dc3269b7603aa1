// The order of kernel events: each row is a sequence of platform-facts.md 5.

#include <gmock/gmock.h>

#include <functional>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;

constexpr const char* kCard = "0000:01:00.0";
constexpr const char* kLeft = "0000:03:01.0";
constexpr const char* kRight = "0000:03:02.0";
constexpr const char* kParent = "0000:3b:00.0";

struct Sequence {
  const char* name;
  const char* topology;
  std::function<void(Node61&)> before;
  std::function<void(Node61&)> act;
  std::vector<std::string> events;
};

void PrintTo(const Sequence& sequence, std::ostream* out) {
  *out << sequence.name;
}

class Events : public testing::TestWithParam<Sequence> {};

TEST_P(Events, ComeInTheKernelsOrder) {
  Node61 node(GetParam().topology);
  if (GetParam().before) GetParam().before(node);
  node.events();
  GetParam().act(node);
  EXPECT_EQ(node.events(), GetParam().events);
}

void unbindCard(Node61& node) {
  node.unbind(kCard, "e1000e");
  node.writeAttribute(kCard, "driver_override", "vfio-pci");
}

void openAndUnbind(Node61& node) {
  node.giveToVfio(kCard);
  node.open(kCard);
  node.events();
  node.unbind(kCard, "vfio-pci");
}

const std::vector<std::string> kCardLeaves{"remove vfio-dev/vfio0", "remove vfio/3",
                                           "unbind 0000:01:00.0"};

INSTANTIATE_TEST_SUITE_P(
    Facts, Events,
    testing::Values(
        Sequence{"BindToVfio",
                 "two-in-group",
                 unbindCard,
                 [](Node61& n) { n.bind(kCard, "vfio-pci"); },
                 {"add vfio/3", "add vfio-dev/vfio0", "bind 0000:01:00.0"}},
        Sequence{"SecondMemberAddsNoGroup",
                 "two-in-group",
                 [](Node61& n) {
                   n.giveToVfio(kLeft);
                   n.unbind(kRight, "e1000");
                   n.writeAttribute(kRight, "driver_override", "vfio-pci");
                 },
                 [](Node61& n) { n.bind(kRight, "vfio-pci"); },
                 {"add vfio-dev/vfio1", "bind 0000:03:02.0"}},
        Sequence{"FirstMemberOfTwoLeavesTheGroup",
                 "two-in-group",
                 [](Node61& n) {
                   n.giveToVfio(kLeft);
                   n.giveToVfio(kRight);
                 },
                 [](Node61& n) { n.unbind(kLeft, "vfio-pci"); },
                 {"remove vfio-dev/vfio0", "unbind 0000:03:01.0"}},
        Sequence{"UnbindFromVfio", "two-in-group", [](Node61& n) { n.giveToVfio(kCard); },
                 [](Node61& n) { n.unbind(kCard, "vfio-pci"); }, kCardLeaves},
        Sequence{"UnbindInUseTellsNothing", "two-in-group", nullptr, openAndUnbind, {}},
        Sequence{"ItsEndTellsAll", "two-in-group",
                 [](Node61& n) {
                   openAndUnbind(n);
                   n.events();
                 },
                 [](Node61& n) { n.close(kCard); }, kCardLeaves},
        Sequence{"ChildrenGoBeforeTheUnbind",
                 "two-in-group",
                 nullptr,
                 [](Node61& n) { n.unbind(kCard, "e1000e"); },
                 {"remove net/eth0", "unbind 0000:01:00.0"}},
        Sequence{"ChildrenComeBeforeTheBind",
                 "two-in-group",
                 [](Node61& n) { n.unbind(kCard, "e1000e"); },
                 [](Node61& n) { n.bind(kCard, "e1000e"); },
                 {"add net/eth0", "bind 0000:01:00.0"}},
        Sequence{"OverrideTellsNothing",
                 "two-in-group",
                 nullptr,
                 [](Node61& n) { n.writeAttribute(kCard, "driver_override", "vfio-pci"); },
                 {}},
        Sequence{"FailedBindTellsNothing",
                 "two-in-group",
                 nullptr,
                 [](Node61& n) { n.bind(kCard, "e1000"); },
                 {}},
        Sequence{"Remove",
                 "two-in-group",
                 nullptr,
                 [](Node61& n) { n.writeAttribute(kCard, "remove", "1"); },
                 {"remove net/eth0", "unbind 0000:01:00.0", "remove 0000:01:00.0"}},
        Sequence{"Rescan",
                 "two-in-group",
                 [](Node61& n) { n.writeAttribute(kCard, "remove", "1"); },
                 [](Node61& n) { n.write("bus/pci/rescan", "1"); },
                 {"add 0000:01:00.0", "add net/eth0", "bind 0000:01:00.0"}},
        Sequence{"UnplugInUseTellsNothing",
                 "two-in-group",
                 [](Node61& n) {
                   n.giveToVfio(kCard);
                   n.open(kCard);
                 },
                 [](Node61& n) { n.kernel.unplug({at(kCard)}); },
                 {}},
        Sequence{
            "VirtualFunctionsAppear",
            "nic-with-vfs",
            nullptr,
            [](Node61& n) { n.writeAttribute(kParent, "sriov_numvfs", "2"); },
            {"add 0000:3b:01.0", "change 0000:3b:01.0", "bind 0000:3b:01.0", "add 0000:3b:01.1",
             "change 0000:3b:01.1", "bind 0000:3b:01.1", "change 0000:3b:00.0"}},
        Sequence{"VirtualFunctionsWithoutAutoprobe",
                 "nic-with-vfs",
                 [](Node61& n) { n.writeAttribute(kParent, "sriov_drivers_autoprobe", "0"); },
                 [](Node61& n) { n.writeAttribute(kParent, "sriov_numvfs", "1"); },
                 {"add 0000:3b:01.0", "change 0000:3b:01.0", "change 0000:3b:00.0"}},
        Sequence{"PlugOfANewModel",
                 "one-gpu",
                 nullptr,
                 [](Node61& n) { n.kernel.plug({at("0000:02:00.0")}); },
                 {"add 0000:02:00.0"}},
        Sequence{"LoadOfAModule",
                 "one-gpu",
                 nullptr,
                 [](Node61& n) { n.kernel.loadDriver("nouveau"); },
                 {"add module/nouveau", "bind 0000:01:00.0", "add drivers/nouveau"}}),
    [](const auto& row) { return row.param.name; });

TEST(UeventText, OfABindCarriesTheKernelsKeys) {
  Node61 node("one-gpu");
  node.giveToVfio("0000:01:00.0");
  const auto events = node.kernel.takeEvents();
  ASSERT_EQ(events.size(), 3U);
  constexpr char kDatagram[] =
      "add@/devices/virtual/vfio/12\0ACTION=add\0DEVPATH=/devices/virtual/vfio/12\0"
      "SUBSYSTEM=vfio\0MAJOR=243\0MINOR=12\0DEVNAME=vfio/12\0";
  EXPECT_EQ(events[0].datagram(), std::string(kDatagram, sizeof kDatagram - 1));
  EXPECT_EQ(events[1].subsystem, "vfio-dev");
  EXPECT_EQ(events[1].value("DEVNAME"), "") << "only with cdev";
  EXPECT_EQ(events[2].devpath, "/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
  EXPECT_EQ(events[2].value("DRIVER"), "vfio-pci");
  EXPECT_EQ(events[2].value("PCI_ID"), "10DE:2684");
  EXPECT_EQ(events[2].value("PCI_CLASS"), "30000");
  EXPECT_EQ(events[2].value("PCI_SLOT_NAME"), "0000:01:00.0");
  EXPECT_EQ(events[2].value("MODALIAS"), "pci:v000010DEd00002684sv000010DEsd000016F3bc03sc00i00");
}

TEST(UeventText, OfAnUnbindNamesNoDriver) {
  Node61 node("one-gpu");
  node.giveToVfio("0000:01:00.0");
  node.events();
  node.unbind("0000:01:00.0", "vfio-pci");
  const auto events = node.kernel.takeEvents();
  ASSERT_EQ(events.back().action, "unbind");
  EXPECT_EQ(events.back().value("DRIVER"), "");
}

TEST(UeventText, OfAWrittenUeventIsMarked) {
  Node61 node("one-gpu");
  EXPECT_EQ(node.writeAttribute("0000:01:00.0", "uevent", "change\n"), 0);
  const auto events = node.kernel.takeEvents();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].value("SYNTH_UUID"), "0");
}

TEST(UeventsWithCdev, VfioDevGoesAtTheStartOfABlockedUnbind) {
  Topology topology = shippedTopology("one-gpu");
  topology.cdev = true;
  Node61 node(topology);
  node.giveToVfio("0000:01:00.0");
  EXPECT_TRUE(node.exists("dev/vfio/devices/vfio0"));
  node.kernel.change([](World& world) { return openCdev(world, at("0000:01:00.0")); });
  node.events();
  EXPECT_EQ(node.unbind("0000:01:00.0", "vfio-pci"), kHangs);
  EXPECT_THAT(node.events(), ElementsAre("remove vfio-dev/vfio0"));
  node.kernel.change([](World& world) { return closeCdev(world, at("0000:01:00.0")); });
  EXPECT_THAT(node.events(), ElementsAre("remove vfio/12", "unbind 0000:01:00.0"));
}

}  // namespace
}  // namespace vfiogate::sim
