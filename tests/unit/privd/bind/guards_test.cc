// What speaks against a change, over many kinds of hardware.

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/privd/bind/guard_question.h"

namespace vfiogate {
namespace {

struct GuardCase {
  const char* name;
  std::function<Topology()> topology;
  unsigned group;
  const char* want;
};

class GuardsOver : public testing::TestWithParam<GuardCase> {};

TEST_P(GuardsOver, ATopologySayWhatSpeaksAgainstBindingIt) {
  EXPECT_EQ(shown(ask(GetParam().topology(), GetParam().group)), GetParam().want);
}

Topology with(Topology topology, const std::function<void(Topology&)>& change) {
  change(topology);
  return topology;
}

INSTANTIATE_TEST_SUITE_P(
    Topologies, GuardsOver,
    testing::Values(GuardCase{"Laptop", laptop, 12,
                              "01:00.0 boot-vga; 01:00.0 console; 01:00.0 users"},
                    GuardCase{"LaptopWhereTheFirmwareDraws", firmwaresLaptop, 12,
                              "01:00.0 boot-vga; 01:00.0 console"},
                    GuardCase{"FirmwaresDisplayOnWhichNobodyDraws",
                              [] {
                                return with(firmwaresLaptop(),
                                            [](Topology& one) { one.facts.devices.clear(); });
                              },
                              12, ""},
                    GuardCase{"Chipset", chipset, 9, "00:1f.0 platform; 00:1f.4 platform"},
                    GuardCase{"HostBridgeWithoutADriver",
                              [] {
                                Topology one;
                                one.add("0000:00:00.0", 0x060000, "", 0);
                                return one;
                              },
                              0, "00:00.0 platform"},
                    GuardCase{"NvSwitch",
                              [] {
                                return with(nvSwitch(), [](Topology& one) {
                                  one.factsOf("0000:41:00.0").module = ModuleUse{"nvidia", 0, {}};
                                });
                              },
                              40, ""},
                    GuardCase{"RootDiskShared", rootDisk, 3, "02:00.0 root-disk"},
                    GuardCase{"SpareDisk", spareDisk, 5, ""},
                    GuardCase{"PhysicalFunction", networkCard, 6, "05:00.0 sriov; 05:00.0 network"},
                    GuardCase{"VirtualFunction", networkCard, 7, ""},
                    GuardCase{"BridgeInTheGroup", behindBridge, 14, ""},
                    GuardCase{"Thunderbolt", thunderbolt, 20, ""},
                    GuardCase{"NoIommu",
                              [] {
                                return with(thunderbolt(),
                                            [](Topology& one) { one.group(20).noIommu = true; });
                              },
                              20, "3d:00.0 no-iommu"}),
    [](const auto& told) { return std::string(told.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Disks, GuardsOver,
    testing::Values(
        GuardCase{"BusyWithoutAReasonInSight",
                  [] {
                    return with(spareDisk(), [](Topology& one) {
                      one.factsOf("0000:04:00.0").disks[0].exclusive = Exclusive::kBusy;
                    });
                  },
                  5, "04:00.0 block"},
        GuardCase{"UsedByTheTablesThoughItCouldBeOpened",
                  [] {
                    return with(spareDisk(), [](Topology& one) {
                      one.factsOf("0000:04:00.0").disks[0].use.uses = {"nvme1n1p1 is swap"};
                    });
                  },
                  5, "04:00.0 block"},
        GuardCase{"NeitherOpenedNorTables",
                  [] {
                    return with(spareDisk(), [](Topology& one) {
                      one.factsOf("0000:04:00.0").disks[0].exclusive = Exclusive::kImpossible;
                    });
                  },
                  5, "04:00.0 storage?"},
        GuardCase{"TablesAloneAreNotEnough",
                  [] {
                    return with(spareDisk(), [](Topology& one) {
                      one.factsOf("0000:04:00.0").disks[0].exclusive = Exclusive::kImpossible;
                      one.facts.tablesComplete = true;
                    });
                  },
                  5, "04:00.0 storage?"},
        GuardCase{"NoDiskInSight",
                  [] {
                    return with(spareDisk(), [](Topology& one) {
                      one.factsOf("0000:04:00.0").disks.clear();
                      one.factsOf("0000:04:00.0").module = ModuleUse{"nvme", 0, {}};
                    });
                  },
                  5, "04:00.0 storage?"},
        GuardCase{"TheRootDiskBehindAHiddenPath", multipathDisk, 5, "04:00.0 root-disk"},
        GuardCase{"AUsbControllerWithADisk",
                  [] {
                    Topology one;
                    one.add("0000:00:14.0", 0x0c0330, "xhci_hcd", 9);
                    one.factsOf("0000:00:14.0").disks = {
                        {.use = {"sda", {"sda1 is mounted at /mnt"}, false},
                         .exclusive = Exclusive::kImpossible}};
                    return one;
                  },
                  9, "00:14.0 block"},
        GuardCase{"AUsbControllerForPeople",
                  [] {
                    Topology one;
                    one.add("0000:00:14.0", 0x0c0330, "xhci_hcd", 9);
                    DeviceFacts& below = one.factsOf("0000:00:14.0");
                    below.inputs = {"input5"};
                    below.terminals = {"ttyUSB0"};
                    below.unseenInterfaces = {"1-4:1.0"};
                    return one;
                  },
                  9, "00:14.0 console; 00:14.0 network?; 00:14.0 users?"}),
    [](const auto& told) { return std::string(told.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Networks, GuardsOver,
    testing::Values(GuardCase{"Up",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces[0].flags = 0x1003;
                                });
                              },
                              14, "06:00.0 network"},
                    GuardCase{"DownButInABond",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces[0].master = "bond0";
                                });
                              },
                              14, "06:00.0 network"},
                    GuardCase{"DownButUnderAVlan",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces[0].uppers = {"eth2.7"};
                                });
                              },
                              14, "06:00.0 network"},
                    GuardCase{"Routed",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces[0].routed = true;
                                });
                              },
                              14, "06:00.0 network"},
                    GuardCase{"FlagsUnreadable",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces[0].flags = std::nullopt;
                                });
                              },
                              14, "06:00.0 network?"},
                    GuardCase{"NoInterfaceInSight",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.factsOf("0000:06:00.0").interfaces.clear();
                                  one.factsOf("0000:06:00.0").module = ModuleUse{"e1000e", 0, {}};
                                });
                              },
                              14, "06:00.0 network?"},
                    GuardCase{"NothingIsKnownOfIt",
                              [] {
                                return with(behindBridge(),
                                            [](Topology& one) { one.facts.devices.clear(); });
                              },
                              14, "06:00.0 network?"}),
    [](const auto& told) { return std::string(told.param.name); });

INSTANTIATE_TEST_SUITE_P(
    GroupsAndUsers, GuardsOver,
    testing::Values(GuardCase{"ModuleUsed",
                              [] {
                                return with(thunderbolt(), [](Topology& one) {
                                  one.factsOf("0000:3d:00.0").module->references = 1;
                                });
                              },
                              20, "3d:00.0 users"},
                    GuardCase{
                        "ModuleUsedByModulesOnly",
                        [] {
                          return with(thunderbolt(), [](Topology& one) {
                            one.factsOf("0000:3d:00.0").module = ModuleUse{"nvidia", 2, {"a", "b"}};
                          });
                        },
                        20, ""},
                    GuardCase{"DisplayDriverBuiltIn",
                              [] {
                                return with(thunderbolt(), [](Topology& one) {
                                  one.factsOf("0000:3d:00.0").module = std::nullopt;
                                });
                              },
                              20, "3d:00.0 users?"},
                    GuardCase{"Open",
                              [] {
                                return with(thunderbolt(), [](Topology& one) {
                                  one.group(20).use = GroupUse::kOpen;
                                });
                              },
                              20, "3d:00.0 in-use"},
                    GuardCase{"UseUnknown",
                              [] {
                                return with(thunderbolt(), [](Topology& one) {
                                  one.group(20).use = GroupUse::kUnknown;
                                });
                              },
                              20, "3d:00.0 in-use?"},
                    GuardCase{"Mediated",
                              [] {
                                return with(thunderbolt(), [](Topology& one) {
                                  one.group(20).use = GroupUse::kBlind;
                                });
                              },
                              20, "3d:00.0 in-use?"},
                    GuardCase{"AMemberIsBeingUnboundInUse",
                              [] {
                                return with(behindBridge(), [](Topology& one) {
                                  one.snapshot.devices.at(at("0000:07:00.0")).enableCount = 1;
                                });
                              },
                              14, "07:00.0 member"}),
    [](const auto& told) { return std::string(told.param.name); });

}  // namespace
}  // namespace vfiogate
