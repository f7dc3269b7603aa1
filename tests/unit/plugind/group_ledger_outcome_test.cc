// How a request ends, by what privd saw.

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
using test::LendingNode;

/// What one look at a group says, and how a request for it ends.
struct Outcome {
  const char* name;
  void (*spoil)(LendingNode& node, GroupLook& look);
  const char* free;  ///< the reason code where the group was free; empty: granted
  const char* held;  ///< the same for a re-offer
};

const Outcome kOutcomes[] = {
    {"Idle", [](LendingNode& /*node*/, GroupLook& /*look*/) {}, "", ""},
    {"Open",
     [](LendingNode& /*node*/, GroupLook& look) {
       look.seen.groups.begin()->second.use = GroupUse::kOpen;
     },
     "foreign", "still-open"},
    {"Blind",
     [](LendingNode& /*node*/, GroupLook& look) {
       look.seen.groups.begin()->second.use = GroupUse::kBlind;
     },
     "", "cannot-tell"},
    {"Unknown",
     [](LendingNode& /*node*/, GroupLook& look) {
       look.seen.groups.begin()->second.use = GroupUse::kUnknown;
     },
     "cannot-tell", "cannot-tell"},
    {"Vanished",
     [](LendingNode& /*node*/, GroupLook& look) {
       look = {GroupLook::Answer::kVanished, {}};
     },
     "not-viable:gone", "not-viable:gone"},
    {"Failed",
     [](LendingNode& /*node*/, GroupLook& look) {
       look = {GroupLook::Answer::kFailed, {}};
     },
     "cannot-tell", "cannot-tell"},
    {"TimedOut",
     [](LendingNode& /*node*/, GroupLook& look) {
       look = {GroupLook::Answer::kTimedOut, {}};
     },
     "timed-out", "timed-out"},
    {"PrivdAway",
     [](LendingNode& /*node*/, GroupLook& look) {
       look = {GroupLook::Answer::kPrivdAway, {}};
     },
     "privd-away", "privd-away"},
    {"NoLongerReady",
     [](LendingNode& /*node*/, GroupLook& look) {
       PciDevice& device = look.seen.devices.at(at(kA));
       device.driver.clear();
       device.vfioDev.reset();
     },
     "not-viable:no-driver", "not-viable:no-driver"},
    {"OtherMembers",
     [](LendingNode& /*node*/, GroupLook& look) {
       look.seen.groups.begin()->second.members = {at(kB)};
     },
     "not-viable:regrouped", "not-viable:regrouped"},
    {"OtherGroup", [](LendingNode& /*node*/, GroupLook& look) { look.seen.groups.clear(); },
     "not-viable:regrouped", "not-viable:regrouped"},
    {"MergedWithALentOne",
     [](LendingNode& node, GroupLook& look) {
       const auto other = node.allocate("gpu", {kC});
       EXPECT_TRUE(other);
       look.seen.groups.begin()->second.members.push_back(at(kC));
     },
     "not-viable:regrouped", "not-viable:regrouped"},
    {"MergedWithOneBeingTaken",
     [](LendingNode& node, GroupLook& look) {
       const auto other = node.take("gpu", {kC});
       EXPECT_TRUE(other);
       look.seen.groups.begin()->second.members.push_back(at(kC));
     },
     "not-viable:regrouped", "not-viable:regrouped"},
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << outcome.name;
}

class Settling : public GroupLedgerTest, public testing::WithParamInterface<Outcome> {
protected:
  /// The reason code with which a request for a ends; empty: granted.
  std::string reason() {
    const auto ticket = node.take("gpu", {kA});
    EXPECT_TRUE(ticket);
    GroupLooks looks = node.look(*ticket);
    GetParam().spoil(node, looks.begin()->second);
    const auto grant = node.ledger.settle(*ticket, looks, node.now);
    return grant ? "" : grant.error().reason;
  }
};

TEST_P(Settling, Rows14To18OfAFreeGroup) {
  EXPECT_EQ(reason(), GetParam().free);
  const bool granted = std::string_view(GetParam().free).empty();
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kA)),
            granted ? GroupHolding::kAnswered : GroupHolding::kFree);
}

TEST_P(Settling, Rows15To18OfAReoffer) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_EQ(reason(), GetParam().held);
  EXPECT_EQ(node.ledger.holding(node.snapshot, at(kA)), GroupHolding::kAnswered);
}

INSTANTIATE_TEST_SUITE_P(Outcomes, Settling, testing::ValuesIn(kOutcomes),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(GroupLedgerTest, Row18TakesAGroupWithoutALookAsTimedOut) {
  const auto ticket = node.take("gpu", {kA});
  ASSERT_TRUE(ticket);
  const auto grant = node.ledger.settle(*ticket, {}, node.now);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().text,
            "0000:01:00.0, group 31: not known in time whether it is in use, timed-out");
}

TEST_F(GroupLedgerTest, Row17NamesTheHolderByReferenceOnly) {
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  node.hardware.group(31).use = GroupUse::kOpen;
  EXPECT_EQ(refusal("gpu", {kA}),
            "0000:01:00.0, group 31: lent since 10:42:07Z and still open, still-open, ref=7f3a");
}

}  // namespace
}  // namespace vfiogate
