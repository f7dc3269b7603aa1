#include "plugind/core/group_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plugind/small_ledger.h"

namespace vfiogate {
namespace {

using test::at;
using test::GroupLedgerTest;
using test::kA;
using test::kB;
using test::kC;
using test::kMorning;
using test::resourceNamed;
using testing::ElementsAre;

TEST_F(GroupLedgerTest, Row12And14GrantAFreeReadyIdleGroup) {
  const auto grant = node.allocate("gpu", {kA});
  ASSERT_TRUE(grant) << grant.error().text;
  EXPECT_THAT(grant->response.nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/31"));
  EXPECT_THAT(grant->response.environment,
              ElementsAre(std::pair("PCI_RESOURCE_VFIOGATE_DEV_GPU", kA)));
  EXPECT_FALSE(grant->again);
  const HolderRecord want{.resource = resourceNamed("gpu"),
                          .ids = {at(kA)},
                          .rest = {},
                          .members = {at(kA), at(kB)},
                          .answeredAt = kMorning,
                          .ref = HolderRef(0x7f3a)};
  EXPECT_THAT(grant->records, ElementsAre(want));
  EXPECT_THAT(node.ledger.records(), ElementsAre(want));
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kB)), GroupHolding::kAnswered);
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kC)), GroupHolding::kFree);
}

TEST_F(GroupLedgerTest, Row3RefusesWhatWasNotShown) {
  EXPECT_EQ(refusal("gpu", {"0000:09:00.0"}),
            "\"0000:09:00.0\": not among the devices shown in vfiogate.dev/gpu, not-shown");
  EXPECT_EQ(refusal("gpu", {kB}),
            "\"0000:01:00.1\": not among the devices shown in vfiogate.dev/gpu, not-shown");
  EXPECT_EQ(refusal("gpu", {"../etc\n"}),
            "\"../etc?\": not among the devices shown in vfiogate.dev/gpu, not-shown");
  EXPECT_EQ(refusal("gpu", {}), "\"\": not among the devices shown in vfiogate.dev/gpu, not-shown");
  EXPECT_EQ(refusal("none", {kA}),
            "\"0000:01:00.0\": not among the devices shown in vfiogate.dev/none, not-shown");
  node.shown.frames[resourceNamed("gpu")].devices.clear();
  EXPECT_EQ(refusal("gpu", {kA}),
            "\"0000:01:00.0\": not among the devices shown in vfiogate.dev/gpu, not-shown");
}

TEST_F(GroupLedgerTest, Row3WantsTheAddressInTheSpellingThatWasShown) {
  node.hardware.add("0000:0a:00.0", 40);
  node.refresh();
  EXPECT_THAT(refusal("gpu", {"0000:0A:00.0"}), testing::HasSubstr("not-shown"));
}

TEST_F(GroupLedgerTest, Row4RefusesAGroupThatIsBeingTaken) {
  const auto ticket = node.take("gpu", {kA});
  ASSERT_TRUE(ticket);
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kB)), GroupHolding::kTaking);
  node.now += std::chrono::seconds(2);
  const std::string want = ", group 31: being lent since 10:42:07Z, being-lent, ref=7f3a";
  EXPECT_EQ(refusal("gpu", {kA}), kA + want);
  EXPECT_EQ(refusal("other", {kB}), kB + want);
  EXPECT_EQ(refusal("gpu", {kC}), "granted");
  EXPECT_TRUE(node.settle(*ticket));
}

TEST_F(GroupLedgerTest, I1Row4RefusesWhatJoinedAGroupThatIsBeingTaken) {
  ASSERT_TRUE(node.take("gpu", {kA}));
  node.hardware.regroup(kC, 31);
  node.refresh();
  EXPECT_THAT(refusal("gpu", {kC}), testing::HasSubstr("group 31: being lent since"));
}

TEST_F(GroupLedgerTest, I1Row10RefusesTheHeldDeviceItselfToAnotherResource) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.settings.resources[0].name = resourceNamed("renamed");
  node.refresh();
  node.shown.frames[resourceNamed("renamed")].devices.push_back({kA, true, std::nullopt});
  EXPECT_THAT(refusal("renamed", {kA}), testing::HasSubstr("group-lent"));
}

TEST_F(GroupLedgerTest, I1Row10RefusesAGroupThatIsLent) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_EQ(refusal("other", {kB}),
            "0000:01:00.1, group 31: lent since 10:42:07Z, group-lent, ref=7f3a");
}

TEST_F(GroupLedgerTest, I1Row10RefusesASiblingInTheSameResource) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.refresh();
  // A live stream may still show both: the kubelet can pick before a frame reaches it.
  node.shown.frames[resourceNamed("gpu")].devices.push_back({kB, true, std::nullopt});
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_THAT(refusal("gpu", {kB}), testing::HasSubstr("group-lent, ref=7f3a"));
}

TEST_F(GroupLedgerTest, Row7And15GrantAReofferOfTheSameDevice) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.now += std::chrono::seconds(60);
  const auto again = node.allocate("gpu", {kA});
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_TRUE(again->again);
  ASSERT_EQ(node.ledger.records().size(), 1U);
  EXPECT_EQ(node.ledger.records()[0].answeredAt, kMorning + std::chrono::seconds(60));
}

TEST_F(GroupLedgerTest, Row7KeepsWhatAReofferLeavesOut) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.refresh();
  node.shown.frames[resourceNamed("gpu")].devices.push_back({kB, true, std::nullopt});
  ASSERT_TRUE(node.allocate("gpu", {kA, kB}));
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_THAT(node.ledger.records()[0].ids, ElementsAre(at(kA)));
  EXPECT_THAT(node.ledger.records()[0].rest, ElementsAre(at(kB)));
  // Row 8 would need the kubelet's memory.
  EXPECT_THAT(refusal("gpu", {kB}), testing::HasSubstr("group-lent"));
}

TEST_F(GroupLedgerTest, Row11RefusesWhatCannotBeLentAndSaysWhy) {
  node.hardware.device(kC).driver = "nvidia";
  node.hardware.device(kC).vfioDev.reset();
  node.refresh();
  EXPECT_EQ(refusal("gpu", {kC}),
            "0000:02:00.0, group 32: bound to nvidia, not to a VFIO driver: bind its group to "
            "vfio-pci, not-viable:host-driver");
}

TEST_F(GroupLedgerTest, Row11RefusesAReofferOfABrokenGroupAndKeepsItsHolder) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.device(kA).answers = false;
  node.refresh();
  EXPECT_THAT(refusal("gpu", {kA}), testing::HasSubstr("not-viable:not-answering"));
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kA)), GroupHolding::kAnswered);
}

TEST_F(GroupLedgerTest, TakesAllGroupsOfARequestOrNone) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.add("0000:03:00.0", 33);
  node.hardware.group(32).groupNode = false;
  node.hardware.device(kC).cdevNode = false;
  node.refresh();
  EXPECT_THAT(refusal("gpu", {"0000:03:00.0", kC}), testing::HasSubstr("group 32"));
  EXPECT_EQ(node.ledger.holding(node.snapshot, at("0000:03:00.0")), GroupHolding::kFree);
  EXPECT_TRUE(node.ledger.takings().empty());
}

TEST_F(GroupLedgerTest, GrantsAllGroupsOfARequestOrNone) {
  const auto ticket = node.take("gpu", {kA, kC});
  ASSERT_TRUE(ticket);
  node.hardware.group(32).use = GroupUse::kOpen;
  const auto grant = node.settle(*ticket);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().text, "0000:02:00.0, group 32: open, by nobody known here, foreign");
  EXPECT_TRUE(node.ledger.records().empty());
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kA)), GroupHolding::kFree);
}

TEST_F(GroupLedgerTest, I1KeepsBothRecordsWhenAFunctionMovesBetweenTheGroupsOfARequest) {
  const auto ticket = node.take("gpu", {kA, kC});
  ASSERT_TRUE(ticket);
  node.hardware.regroup(kB, 32);
  ASSERT_TRUE(node.settle(*ticket));
  EXPECT_EQ(node.ledger.records().size(), 2U);
  node.refresh();
  for (const char* address : {kA, kB, kC}) {
    EXPECT_EQ(node.ledger.holding(node.snapshot, at(address)), GroupHolding::kAnswered) << address;
  }
}

TEST_F(GroupLedgerTest, GivesEveryRecordItsOwnReference) {
  node.hardware.add("0000:03:00.0", 33);
  node.refresh();
  const auto both = node.allocate("gpu", {kA, kC});
  const auto third = node.allocate("gpu", {"0000:03:00.0"});
  ASSERT_TRUE(both && third);
  EXPECT_EQ(both->records[0].ref.str(), "7f3a");
  EXPECT_EQ(both->records[1].ref.str(), "7f3b");
  EXPECT_EQ(third->records[0].ref.str(), "7f3c");
}

TEST_F(GroupLedgerTest, CancelGivesTheGroupsBack) {
  const auto ticket = node.take("gpu", {kA});
  ASSERT_TRUE(ticket);
  node.ledger.cancel(*ticket);
  node.ledger.cancel(*ticket);
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kA)), GroupHolding::kFree);
  EXPECT_EQ(refusal("other", {kB}), "granted");
}

TEST_F(GroupLedgerTest, I1Row34FollowsAddressesWhenAGroupComesBackUnderAnotherNumber) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.regroup(kA, 77);
  node.hardware.regroup(kB, 77);
  node.refresh();
  EXPECT_THAT(refusal("other", {kB}),
              testing::HasSubstr("group 77: lent since 10:42:07Z, group-lent"));
  EXPECT_EQ(refusal("gpu", {kA}), "granted");  // the same resource and device: a re-offer
}

TEST_F(GroupLedgerTest, I1Row34KeepsBothHalvesOfASplitGroup) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.regroup(kB, 77);
  node.refresh();
  EXPECT_THAT(refusal("other", {kB}), testing::HasSubstr("group-lent"));
}

TEST_F(GroupLedgerTest, I1Row34LendsNothingOfGroupsThatMergedWithAHolderEach) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  ASSERT_TRUE(node.allocate("gpu", {kC}));
  node.hardware.regroup(kC, 31);
  node.refresh();
  EXPECT_EQ(refusal("gpu", {kA}),
            "0000:01:00.0, group 31: lent since 10:42:07Z, disputed, ref=7f3a, ref=7f3b");
}

TEST_F(GroupLedgerTest, I1FreesTheNumberOfALentGroupForOtherDevices) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.remove(kA);
  node.hardware.remove(kB);
  node.hardware.regroup(kC, 31);
  node.refresh();
  EXPECT_EQ(refusal("gpu", {kC}), "granted");
}

TEST_F(GroupLedgerTest, I1UnplugAndReplugKeepTheHolder) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.remove(kA);
  node.hardware.remove(kB);
  node.refresh();
  node.hardware.add(kB, 90).device = std::uint16_t{0x2685};
  node.refresh();
  EXPECT_THAT(refusal("other", {kB}), testing::HasSubstr("group 90: lent since"));
}

TEST(Refusal, SaysThatPrivdIsAway) {
  EXPECT_EQ(refusePrivdAway({kA, kB}).text,
            "\"0000:01:00.0\": cannot be checked, privd is away, privd-away");
  EXPECT_EQ(refusePrivdAway({}).reason, "privd-away");
}

TEST(Refusal, CutsAndCleansForeignText) {
  EXPECT_EQ(quoteForeign("a\nb\x7f"), "\"a?b?\"");
  EXPECT_EQ(quoteForeign(std::string(100, 'x')), "\"" + std::string(64, 'x') + "...\"");
}

}  // namespace
}  // namespace vfiogate
