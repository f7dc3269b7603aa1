// Who may have what changed: what an override lifts, what the policy and a hold forbid.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/privd/bind/guard_question.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

GuardSettings policy(const char* allow, const char* deny) {
  GuardSettings settings;
  if (*allow != '\0') settings.allow.push_back(*Selector::parse(allow));
  if (*deny != '\0') settings.deny.push_back(*Selector::parse(deny));
  return settings;
}

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

TEST(Guards, PartsOfTheMachineAreLiftedByNameAndForNoAllocation) {
  const GuardSettings wide = policy("vendor=10de", "");
  const std::vector<GuardOverride> all{{Guard::kPlatform, std::nullopt}};
  const std::vector<GuardOverride> named{{Guard::kPlatform, at("0000:00:1f.0")},
                                         {Guard::kPlatform, at("0000:00:1f.4")}};
  const char* const kStands = "00:1f.0 platform; 00:1f.4 platform";
  EXPECT_EQ(shown(ask(chipset(), 9, {.settings = wide})), kStands);
  EXPECT_EQ(shown(ask(chipset(), 9, {.overrides = all})), kStands);
  EXPECT_FALSE(anyStands(ask(chipset(), 9, {.overrides = named})));
  EXPECT_EQ(
      shown(ask(chipset(), 9, {.by = ChangeBy::kAllocation, .settings = wide, .overrides = named})),
      kStands);
  EXPECT_THAT(ask(chipset(), 9, {.kind = ChangeKind::kUnbind}), IsEmpty());
}

TEST(Guards, AnAllocationLeavesBridgesAndEmptyPartsOfTheMachineAside) {
  const Topology bridged = behindBridge();
  EXPECT_TRUE(standsAside(bridged.snapshot.devices.at(at("0000:00:1c.0"))));
  EXPECT_FALSE(standsAside(bridged.snapshot.devices.at(at("0000:07:00.0"))));
  Topology one;
  EXPECT_TRUE(standsAside(one.add("0000:00:01.0", 0x060000, "", 1)));
  EXPECT_FALSE(standsAside(one.add("0000:00:1f.4", 0x0c0500, "i801_smbus", 1)));
}

TEST(Guards, OverridesOfTheDaemonCountLikeTheOrders) {
  EXPECT_FALSE(anyStands(ask(
      thunderbolt(), 20,
      {.settings = {.overrides = {{Guard::kHeld, std::nullopt}}}, .allocated = Allocated::kYes})));
}

TEST(Guards, I1_WhereItIsNotKnownWhatIsAllocatedNothingIsChangedWithoutAWord) {
  const auto found = ask(thunderbolt(), 20, {.allocated = Allocated::kUnknown});
  EXPECT_TRUE(anyStands(found));
  EXPECT_EQ(
      std::ranges::count_if(found, [](const Objection& one) { return one.guard == Guard::kHeld; }),
      1);
  EXPECT_FALSE(anyStands(ask(thunderbolt(), 20,
                             {.settings = {.overrides = {{Guard::kHeld, std::nullopt}}},
                              .allocated = Allocated::kUnknown})));
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

TEST(Guards, AVgpuWithoutAVfioDeviceIsNotTakenFromItsDriver) {
  Topology one = networkCard();
  one.snapshot.devices.at(at("0000:05:01.0")).vgpuType = 0;
  EXPECT_EQ(shown(ask(one, 7, {.overrides = {{Guard::kInUse, std::nullopt}}})), "05:01.0 in-use");
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
    const auto found = ask(thunderbolt(), 20, {.kind = kind, .allocated = Allocated::kYes});
    EXPECT_EQ(shown(found), "3d:00.0 held");
    EXPECT_THAT(found[0].lift, HasSubstr("--override held"));
  }
}

TEST(Guards, AnUnbindAsksNothingOfHostDrivers) {
  EXPECT_THAT(ask(laptop(), 12, {.kind = ChangeKind::kUnbind}), IsEmpty());
}

TEST(Guards, I6_PeersAndDeclarationsNeedAnAllowAndRootDoesNot) {
  for (const ChangeBy by : {ChangeBy::kAllocation, ChangeBy::kDeclaration}) {
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
  EXPECT_EQ(
      shown(ask(behindBridge(), 14,
                {.by = ChangeBy::kAllocation, .settings = policy("address=0000:06:00.0", "")})),
      "07:00.0 policy");
}

TEST(Guards, AnOperatorsExclusionKeepsAllocationsAndDeclarationsOffButNotRoot) {
  const GuardSettings allowed = policy("10de:2684", "");
  EXPECT_EQ(shown(ask(thunderbolt(), 20,
                      {.by = ChangeBy::kAllocation, .settings = allowed, .excluded = true})),
            "3d:00.0 operator");
  EXPECT_THAT(ask(thunderbolt(), 20, {.excluded = true}), IsEmpty());
}

TEST(Guards, EveryObjectionSaysWhatWouldLiftIt) {
  std::size_t seen = 0;
  for (const auto& [topology, group] :
       {std::pair{laptop(), 12U}, {rootDisk(), 3U}, {networkCard(), 6U}}) {
    for (const Objection& one : ask(topology, group, {.allocated = Allocated::kYes})) {
      EXPECT_FALSE(one.reason.empty());
      EXPECT_FALSE(one.lift.empty()) << nameOf(one.guard);
      ++seen;
    }
  }
  EXPECT_GE(seen, 8U);
}

}  // namespace
}  // namespace vfiogate
