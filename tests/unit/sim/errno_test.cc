// What the kernel answers to writes: each row is a fact of platform-facts.md 7.

#include <functional>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

constexpr const char* kCard = "0000:01:00.0";   // e1000e, group 3, own
constexpr const char* kLeft = "0000:03:01.0";   // e1000, group 4
constexpr const char* kRight = "0000:03:02.0";  // e1000, group 4

struct Fact {
  const char* name;
  std::function<void(Node61&)> before;
  std::function<int(Node61&)> act;
  int answer;
};

void PrintTo(const Fact& fact, std::ostream* out) {
  *out << fact.name;
}

class Answers : public testing::TestWithParam<Fact> {};

TEST_P(Answers, AreTheKernels) {
  Node61 node("two-in-group");
  if (GetParam().before) GetParam().before(node);
  EXPECT_EQ(GetParam().act(node), GetParam().answer);
}

void vfio(Node61& node) {
  node.giveToVfio(kCard);
}

void override(Node61& node) {
  node.writeAttribute(kCard, "driver_override", "vfio-pci\n");
}

void leftInUse(Node61& node) {
  node.giveToVfio(kLeft);
  node.giveToVfio(kRight);
  ASSERT_EQ(node.open(kLeft), 0);
  ASSERT_EQ(node.unbind(kRight, "vfio-pci"), 0);
  ASSERT_EQ(node.writeAttribute(kRight, "driver_override", "\n"), 0);
}

void cardHangs(Node61& node) {
  vfio(node);
  ASSERT_EQ(node.open(kCard), 0);
  ASSERT_EQ(node.unbind(kCard, "vfio-pci"), kHangs);
}

INSTANTIATE_TEST_SUITE_P(
    Binding, Answers,
    testing::Values(
        Fact{"BindOfABoundDevice", nullptr, [](Node61& n) { return n.bind(kCard, "e1000e"); },
             EBUSY},
        Fact{"BindOfAnUnknownDevice", nullptr,
             [](Node61& n) { return n.bind("0000:77:00.0", "e1000e"); }, ENODEV},
        Fact{"BindOfNoAddress", nullptr, [](Node61& n) { return n.bind("card", "e1000e"); },
             ENODEV},
        Fact{"BindAgainstTheOverride", override,
             [](Node61& n) {
               n.unbind(kCard, "e1000e");
               return n.bind(kCard, "e1000e");
             },
             ENODEV},
        Fact{"BindToADriverThatDoesNotKnowIt", nullptr,
             [](Node61& n) {
               n.unbind(kCard, "e1000e");
               return n.bind(kCard, "e1000");
             },
             ENODEV},
        Fact{"UnbindFromAnotherDriver", nullptr, [](Node61& n) { return n.unbind(kCard, "e1000"); },
             ENODEV},
        Fact{"UnbindOfADriverlessDevice", [](Node61& n) { n.unbind(kCard, "e1000e"); },
             [](Node61& n) { return n.unbind(kCard, "e1000e"); }, ENODEV},
        Fact{"ProbeOfAnUnknownDevice", nullptr,
             [](Node61& n) { return n.write("bus/pci/drivers_probe", "0000:77:00.0"); }, ENODEV},
        Fact{"ProbeWithAnOverrideNamingNoDriver",
             [](Node61& n) {
               n.unbind(kCard, "e1000e");
               n.writeAttribute(kCard, "driver_override", "nobody");
             },
             [](Node61& n) { return n.write("bus/pci/drivers_probe", kCard); }, 0},
        Fact{"ProbeOfABoundDevice", nullptr,
             [](Node61& n) { return n.write("bus/pci/drivers_probe", kCard); }, 0},
        Fact{"OverrideOfAPage", nullptr,
             [](Node61& n) {
               return n.writeAttribute(kCard, "driver_override", std::string(4095, 'x'));
             },
             EINVAL},
        Fact{"NewIdMakesVfioTakeIt", [](Node61& n) { n.unbind(kCard, "e1000e"); },
             [](Node61& n) { return n.write("bus/pci/drivers/vfio-pci/new_id", "8086 10d3"); }, 0},
        Fact{"NewIdTwice",
             [](Node61& n) { n.write("bus/pci/drivers/vfio-pci/new_id", "8086 10d3"); },
             [](Node61& n) { return n.write("bus/pci/drivers/vfio-pci/new_id", "8086 10d3"); },
             EEXIST},
        Fact{"NewIdOfOneNumber", nullptr,
             [](Node61& n) { return n.write("bus/pci/drivers/vfio-pci/new_id", "8086"); }, EINVAL},
        Fact{"RemoveIdThatIsNotThere", nullptr,
             [](Node61& n) { return n.write("bus/pci/drivers/vfio-pci/remove_id", "8086 10d3"); },
             ENODEV}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    DmaOwnership, Answers,
    testing::Values(Fact{"ProbeGivesNoMemberToAHostDriver", leftInUse,
                         [](Node61& n) { return n.write("bus/pci/drivers_probe", kRight); },
                         EINVAL},
                    Fact{"BindGivesNoMemberToAHostDriver", leftInUse,
                         [](Node61& n) { return n.bind(kRight, "e1000"); }, EBUSY},
                    Fact{"AfterTheReleaseItDoes",
                         [](Node61& n) {
                           leftInUse(n);
                           n.close(kLeft);
                         },
                         [](Node61& n) { return n.bind(kRight, "e1000"); }, 0},
                    Fact{"PciStubMayHaveTheMember", leftInUse,
                         [](Node61& n) {
                           n.writeAttribute(kRight, "driver_override", "pci-stub\n");
                           return n.bind(kRight, "pci-stub");
                         },
                         0},
                    Fact{"AnotherMemberMayBeUnbound",
                         [](Node61& n) {
                           n.giveToVfio(kLeft);
                           n.giveToVfio(kRight);
                           n.open(kLeft);
                         },
                         [](Node61& n) { return n.unbind(kRight, "vfio-pci"); }, 0}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Viability, Answers,
    testing::Values(Fact{"MemberOnAHostDriver", [](Node61& n) { n.giveToVfio(kLeft); },
                         [](Node61& n) { return n.open(kLeft); }, EPERM},
                    Fact{"MemberWithoutDriver",
                         [](Node61& n) {
                           n.giveToVfio(kLeft);
                           n.unbind(kRight, "e1000");
                         },
                         [](Node61& n) { return n.open(kLeft); }, 0},
                    Fact{"MemberOnVfio",
                         [](Node61& n) {
                           n.giveToVfio(kLeft);
                           n.giveToVfio(kRight);
                         },
                         [](Node61& n) { return n.open(kLeft); }, 0},
                    Fact{"AnotherHolderOfTheGroup",
                         [](Node61& n) {
                           n.giveToVfio(kLeft);
                           n.giveToVfio(kRight);
                           n.open(kLeft, "vm1");
                         },
                         [](Node61& n) { return n.open(kRight, "vm2"); }, EBUSY},
                    Fact{"DeviceOnAHostDriver", nullptr, [](Node61& n) { return n.open(kCard); },
                         ENODEV}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WhileAnUnbindHangs, Answers,
    testing::Values(
        Fact{"OverrideHangs", cardHangs,
             [](Node61& n) { return n.writeAttribute(kCard, "driver_override", "\n"); }, kHangs},
        Fact{"BindOfItHangs", cardHangs, [](Node61& n) { return n.bind(kCard, "vfio-pci"); },
             kHangs},
        Fact{"ResetOfItHangs", cardHangs,
             [](Node61& n) { return n.writeAttribute(kCard, "reset", "1"); }, kHangs},
        Fact{"NewIdOfADriverThatWouldTakeItHangs", cardHangs,
             [](Node61& n) { return n.write("bus/pci/drivers/vfio-pci/new_id", "1234 5678"); },
             kHangs},
        Fact{"NewIdOfAnotherDriverReturns", cardHangs,
             [](Node61& n) { return n.write("bus/pci/drivers/e1000/new_id", "1234 5678"); }, 0},
        Fact{"ProbeOfItReturns", cardHangs,
             [](Node61& n) { return n.write("bus/pci/drivers_probe", kCard); }, 0},
        Fact{"WritingItsUeventReturns", cardHangs,
             [](Node61& n) { return n.writeAttribute(kCard, "uevent", "change"); }, 0},
        Fact{"UnbindOfAnotherReturns", cardHangs,
             [](Node61& n) { return n.unbind(kLeft, "e1000"); }, 0},
        Fact{"BindOfAnotherReturns",
             [](Node61& n) {
               n.unbind(kLeft, "e1000");
               cardHangs(n);
             },
             [](Node61& n) { return n.bind(kLeft, "e1000"); }, 0},
        Fact{"RescanReturns", cardHangs, [](Node61& n) { return n.write("bus/pci/rescan", "1"); },
             0}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WhileARemoveHangs, Answers,
    testing::Values(Fact{"RescanHangs",
                         [](Node61& n) {
                           vfio(n);
                           n.open(kCard);
                           n.writeAttribute(kCard, "remove", "1");
                         },
                         [](Node61& n) { return n.write("bus/pci/rescan", "1"); }, kHangs},
                    Fact{"UnbindOfAnotherReturns",
                         [](Node61& n) {
                           vfio(n);
                           n.open(kCard);
                           n.writeAttribute(kCard, "remove", "1");
                         },
                         [](Node61& n) { return n.unbind(kLeft, "e1000"); }, 0}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Capabilities, Answers,
    testing::Values(
        Fact{"EnableNeedsSysAdmin", nullptr,
             [](Node61& n) { return n.write("bus/pci/devices/0000:01:00.0/enable", "1", false); },
             EPERM},
        Fact{
            "NumaNodeNeedsSysAdmin", nullptr,
            [](Node61& n) { return n.write("bus/pci/devices/0000:01:00.0/numa_node", "0", false); },
            EPERM},
        Fact{"GroupTypeNeedsSysAdmin", nullptr,
             [](Node61& n) { return n.write("kernel/iommu_groups/3/type", "DMA", false); }, EACCES},
        Fact{"OverrideNeedsNone", nullptr,
             [](Node61& n) {
               return n.write("bus/pci/devices/0000:01:00.0/driver_override", "vfio-pci", false);
             },
             0},
        Fact{"NumaNodeThatIsNotThere", nullptr,
             [](Node61& n) { return n.writeAttribute(kCard, "numa_node", "7"); }, EINVAL},
        Fact{"EnableOfABoundDevice", nullptr,
             [](Node61& n) { return n.writeAttribute(kCard, "enable", "1"); }, EBUSY},
        Fact{"DisableOfADisabledDevice", [](Node61& n) { n.unbind(kCard, "e1000e"); },
             [](Node61& n) { return n.writeAttribute(kCard, "enable", "0"); }, EIO},
        Fact{"UnknownResetMethod", nullptr,
             [](Node61& n) { return n.writeAttribute(kCard, "reset_method", "flr"); }, EINVAL},
        Fact{"WriteToAReadOnlyFile", nullptr,
             [](Node61& n) { return n.writeAttribute(kCard, "vendor", "0x1234"); }, EACCES}),
    [](const auto& row) { return row.param.name; });

struct SriovFact {
  const char* name;
  std::vector<std::string> writes;
  int answerOfLast;
};

class VirtualFunctions : public testing::TestWithParam<SriovFact> {};

TEST_P(VirtualFunctions, AreCountedAsByTheKernel) {
  Node61 node("nic-with-vfs");
  int answer = 0;
  for (const std::string& count : GetParam().writes) {
    if (count == "unbind") {
      ASSERT_EQ(node.unbind("0000:3b:00.0", "ice"), 0);
    } else if (count == "vfio") {
      ASSERT_EQ(node.writeAttribute("0000:3b:00.0", "driver_override", "vfio-pci"), 0);
      answer = node.bind("0000:3b:00.0", "vfio-pci");
    } else {
      answer = node.writeAttribute("0000:3b:00.0", "sriov_numvfs", count);
    }
  }
  EXPECT_EQ(answer, GetParam().answerOfLast);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, VirtualFunctions,
    testing::Values(SriovFact{"Some", {"4"}, 0}, SriovFact{"TooMany", {"9"}, ERANGE},
                    SriovFact{"AnotherNumber", {"4", "3"}, EBUSY},
                    SriovFact{"TheSameNumber", {"4", "4"}, 0},
                    SriovFact{"AnotherNumberAfterZero", {"4", "0", "3"}, 0},
                    SriovFact{"NoDriver", {"unbind", "4"}, ENOENT},
                    SriovFact{"VfioRefusesTheParent", {"4", "unbind", "vfio"}, EBUSY},
                    SriovFact{"VfioTakesTheParentWithout", {"unbind", "vfio"}, 0},
                    SriovFact{"NoNumber", {"many"}, EINVAL}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate::sim
