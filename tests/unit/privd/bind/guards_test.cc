// What speaks against a change, over many kinds of hardware.

#include "privd/bind/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/privd/bind/topologies.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::set<Bdf> endpointsOf(const Topology& topology, unsigned group) {
  std::set<Bdf> all;
  for (const Bdf& member : topology.group(group).members) {
    if (isEndpoint(topology.snapshot.devices.at(member))) all.insert(member);
  }
  return all;
}

struct Question {
  ChangeKind kind = ChangeKind::kBind;
  ChangeBy by = ChangeBy::kOperator;
  GuardSettings settings{};
  std::vector<GuardOverride> overrides{};
  bool held = false;
  bool operatorHeld = false;
};

std::vector<Objection> ask(const Topology& topology, unsigned group,
                           const Question& question = {}) {
  const std::set<Bdf> changed = endpointsOf(topology, group);
  return objectionsTo({.snapshot = topology.snapshot,
                       .group = topology.group(group),
                       .changed = changed,
                       .named = {*changed.begin()},
                       .kind = question.kind,
                       .by = question.by,
                       .facts = topology.facts,
                       .held = question.held,
                       .operatorHeld = question.operatorHeld},
                      question.settings, question.overrides);
}

std::string shown(const std::vector<Objection>& objections) {
  std::string text;
  for (const Objection& one : objections) {
    text += (text.empty() ? "" : "; ") + one.address.str().substr(5) + " " +
            std::string(nameOf(one.guard)) + (one.verdict == Verdict::kUnknown ? "?" : "") +
            (one.overridden ? " lifted" : "");
  }
  return text;
}

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
    testing::Values(GuardCase{"BusyWithoutAReasonInSight",
                              [] {
                                return with(spareDisk(), [](Topology& one) {
                                  one.factsOf("0000:04:00.0").disks[0].exclusive = Exclusive::kBusy;
                                });
                              },
                              5, "04:00.0 block"},
                    GuardCase{"UsedByTheTablesThoughItCouldBeOpened",
                              [] {
                                return with(spareDisk(), [](Topology& one) {
                                  one.factsOf("0000:04:00.0").disks[0].use.uses = {
                                      "nvme1n1p1 is swap"};
                                });
                              },
                              5, "04:00.0 block"},
                    GuardCase{"NeitherOpenedNorTables",
                              [] {
                                return with(spareDisk(), [](Topology& one) {
                                  one.factsOf("0000:04:00.0").disks[0].exclusive =
                                      Exclusive::kImpossible;
                                });
                              },
                              5, "04:00.0 storage?"},
                    GuardCase{"TablesAloneAreNotEnough",
                              [] {
                                return with(spareDisk(), [](Topology& one) {
                                  one.factsOf("0000:04:00.0").disks[0].exclusive =
                                      Exclusive::kImpossible;
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
                    GuardCase{"AUsbControllerWithADisk",
                              [] {
                                Topology one;
                                one.add("0000:00:14.0", 0x0c0330, "xhci_hcd", 9);
                                one.factsOf("0000:00:14.0").disks = {
                                    {.use = {"sda", {"sda1 is mounted at /mnt"}, false},
                                     .exclusive = Exclusive::kImpossible}};
                                return one;
                              },
                              9, "00:14.0 block"}),
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

TEST(Guards, StorageThatShowsNoUseIsBoundWhereTheTablesAreCompleteAndItIsAllowed) {
  Topology one = spareDisk();
  one.factsOf("0000:04:00.0").disks[0].exclusive = Exclusive::kImpossible;
  one.facts.tablesComplete = true;
  EXPECT_THAT(ask(one, 5, {.settings = {.allowStorage = true}}), IsEmpty());
  one.facts.tablesComplete = false;
  EXPECT_EQ(shown(ask(one, 5, {.settings = {.allowStorage = true}})), "04:00.0 storage?");
}

TEST(Guards, AnInformedPersonLiftsWhatOneMayLift) {
  const auto lifted = ask(laptop(), 12,
                          {.overrides = {{Guard::kBootVga, std::nullopt},
                                         {Guard::kConsole, at("0000:01:00.0")},
                                         {Guard::kUsers, at("0000:01:00.1")}}});
  EXPECT_EQ(shown(lifted), "01:00.0 boot-vga lifted; 01:00.0 console lifted; 01:00.0 users")
      << "the last one is for another device";
  EXPECT_TRUE(anyStands(lifted));
}

TEST(Guards, OverridesOfTheDaemonCountLikeTheOrders) {
  EXPECT_FALSE(
      anyStands(ask(thunderbolt(), 20,
                    {.settings = {.overrides = {{Guard::kHeld, std::nullopt}}}, .held = true})));
}

TEST(Guards, NoOverrideLiftsARootDiskOneInUseOrAnOpenGroup) {
  for (const Guard guard : {Guard::kRootDisk, Guard::kBlock, Guard::kInUse, Guard::kBridge,
                            Guard::kSriov, Guard::kMember, Guard::kPolicy, Guard::kOperator}) {
    EXPECT_FALSE(mayBeOverridden(guard)) << nameOf(guard);
  }
  Topology one = rootDisk();
  one.group(3).use = GroupUse::kOpen;
  EXPECT_EQ(
      shown(ask(one, 3,
                {.overrides = {{Guard::kRootDisk, std::nullopt}, {Guard::kInUse, std::nullopt}}})),
      "02:00.0 root-disk; 02:00.0 in-use");
}

TEST(Guards, ABridgeThatIsNamedIsRefused) {
  const Topology one = behindBridge();
  const auto found = objectionsTo({.snapshot = one.snapshot,
                                   .group = one.group(14),
                                   .changed = {},
                                   .named = {at("0000:00:1c.0")},
                                   .facts = one.facts},
                                  {}, {});
  EXPECT_EQ(shown(found), "00:1c.0 bridge");
}

TEST(Guards, I1_ALentGroupIsRefusedInBothDirections) {
  for (const ChangeKind kind : {ChangeKind::kBind, ChangeKind::kUnbind}) {
    const auto found = ask(thunderbolt(), 20, {.kind = kind, .held = true});
    EXPECT_EQ(shown(found), "3d:00.0 held");
    EXPECT_THAT(found[0].lift, HasSubstr("--override held"));
  }
}

TEST(Guards, AnUnbindAsksNothingOfHostDrivers) {
  EXPECT_THAT(ask(laptop(), 12, {.kind = ChangeKind::kUnbind}), IsEmpty());
}

GuardSettings policy(const char* allow, const char* deny) {
  GuardSettings settings;
  if (*allow != '\0') settings.allow.push_back(*Selector::parse(allow));
  if (*deny != '\0') settings.deny.push_back(*Selector::parse(deny));
  return settings;
}

TEST(Guards, I6_PeersAndDeclarationsNeedAnAllowAndRootDoesNot) {
  for (const ChangeBy by : {ChangeBy::kLending, ChangeBy::kDeclaration}) {
    EXPECT_EQ(shown(ask(thunderbolt(), 20, {.by = by})), "3d:00.0 policy");
    EXPECT_THAT(ask(thunderbolt(), 20, {.by = by, .settings = policy("10de:2684", "")}), IsEmpty());
    EXPECT_EQ(
        shown(ask(thunderbolt(), 20, {.by = by, .settings = policy("10de:2684", "class=03")})),
        "3d:00.0 policy")
        << "deny wins";
  }
  EXPECT_THAT(ask(thunderbolt(), 20), IsEmpty());
  EXPECT_EQ(shown(ask(thunderbolt(), 20, {.settings = policy("", "class=03")})), "3d:00.0 policy");
}

TEST(Guards, I6_EveryMemberThatAPeerWouldChangeNeedsItsAllow) {
  EXPECT_EQ(shown(ask(behindBridge(), 14,
                      {.by = ChangeBy::kLending, .settings = policy("address=0000:06:00.0", "")})),
            "07:00.0 policy");
}

TEST(Guards, AnOperatorsHoldKeepsLendingsAndDeclarationsOffButNotRoot) {
  const GuardSettings allowed = policy("10de:2684", "");
  EXPECT_EQ(shown(ask(thunderbolt(), 20,
                      {.by = ChangeBy::kLending, .settings = allowed, .operatorHeld = true})),
            "3d:00.0 operator");
  EXPECT_THAT(ask(thunderbolt(), 20, {.operatorHeld = true}), IsEmpty());
}

TEST(Guards, EveryObjectionSaysWhatWouldLiftIt) {
  std::size_t seen = 0;
  for (const auto& [topology, group] :
       {std::pair{laptop(), 12U}, {rootDisk(), 3U}, {networkCard(), 6U}}) {
    for (const Objection& one : ask(topology, group, {.held = true})) {
      EXPECT_FALSE(one.reason.empty());
      EXPECT_FALSE(one.lift.empty()) << nameOf(one.guard);
      ++seen;
    }
  }
  EXPECT_GE(seen, 8U);
}

}  // namespace
}  // namespace vfiogate
