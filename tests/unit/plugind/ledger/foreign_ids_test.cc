// Ids of other plugins under our resources' names.

#include <gmock/gmock.h>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/ledger_view.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;
using testing::HasSubstr;

// I1: KubeVirt's own plugin names a device by its IOMMU group, and its machine is closed.
TEST_F(LedgerCase, I1_AGroupNumberHoldsItsGroup) {
  node.record("p1", "gpu", {"31"});
  node.registered["vfiogate.dev/gpu"] = {"31", "32"};
  node.start();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("gpu", {kA}), "group-allocated");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "the scheduler counts its pod";
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted") << "the other card is free";
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// I1: what an id stands for cannot be told, so nothing of the resource is free for sure.
TEST_F(LedgerCase, I1_AnIdThatStandsForNothingKeepsTheResourceFromGrowing) {
  node.start();
  hold("p1", "gpu", {kA});
  node.record("p2", "gpu", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.write();
  EXPECT_TRUE(node.told("foreign-ids"));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-") << "what is held stays Healthy";
  const CallId call = node.ask("gpu", {kC});
  EXPECT_EQ(node.outcome(call), "foreign-ids");
  EXPECT_THAT(node.text(call), HasSubstr("the kubelet has \"6f0c7a56-0000-4000-8000-00000000000a\" "
                                         "allocated as vfiogate.dev/gpu"));
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "foreign-ids");
  EXPECT_EQ(explain(node.settings, node.ledger.state(), at(kC)).reason, "foreign-ids");
  node.forget("p2");
  node.write();
  EXPECT_TRUE(node.told("foreign-ids-gone"));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// The sibling of what may be held is in another resource.
TEST_F(LedgerCase, I1_WhatMayBeHeldIsNotGivenOutThroughAnotherResource) {
  node.record("p2", "gpu", {"99"});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  EXPECT_EQ(node.allocate("other", {kB}), "foreign-ids");
}

// A plugin before us gave one pod the card and its audio function, each under its own resource.
TEST_F(LedgerCase, OnePodWithTwoResourcesOfAGroupIsNoDispute) {
  node.record("p1", "gpu", {kA});
  node.record("p1", "other", {kB});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  EXPECT_FALSE(node.told("disputed"));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.record("p2", "other", {kB});
  node.write();
  EXPECT_TRUE(node.told("disputed")) << "another pod is another party";
  node.forget("p1");
  node.forget("p2");
  node.pass(75s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// A List has no UIDs: a pod is its namespace and name, until a version tells.
TEST_F(LedgerCase, OnePodWithTwoResourcesOfAGroupIsNoDisputeWhereOnlyAListNamesIt) {
  node.readable = false;
  node.list = {{{"ns", "vm", "main", "vfiogate.dev/gpu", {kA}},
                {"ns", "vm", "main", "vfiogate.dev/other", {kB}}},
               {"ns/vm"}};
  node.start(false);
  EXPECT_FALSE(node.told("disputed"));
  EXPECT_FALSE(viewOf(node.ledger.state(), {at(kA), at(kB)}, {0, 1}).disputed);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  node.list.devices.push_back({"ns", "other", "main", "vfiogate.dev/other", {kB}});
  node.run(node.ledger.listRead(node.list, node.now.instant, node.now));
  EXPECT_TRUE(node.told("disputed")) << "another pod is another party";
}

TEST_F(LedgerCase, NorIsItWhenItsGroupGetsAnotherNumber) {
  node.record("p1", "gpu", {kA});
  node.record("p1", "other", {kB});
  node.registered["vfiogate.dev/other"] = {kB};
  node.start();
  node.hardware.regroup(kA, 40);
  node.hardware.regroup(kB, 40);
  node.see();
  EXPECT_TRUE(node.told("regrouped"));
  EXPECT_FALSE(node.told("disputed"));
}

TEST_F(LedgerCase, IdsUnderOtherPluginsResourcesSayNothing) {
  node.entries.push_back({"p2", "main", "example.com/gpu", {"31"}, std::nullopt, std::nullopt});
  node.entries.push_back({"p3", "main", "example.com/nic", {"eth0"}, std::nullopt, std::nullopt});
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
  EXPECT_FALSE(node.told("foreign-ids"));
}

// The gate serves no name that its prefixes do not cover, and so there is no stream.
TEST_F(LedgerCase, AnEntryOfAnotherPluginKeepsNoNodeOfClaimsFromAdoption) {
  for (ResourceSettings& entry : node.settings.resources) entry.allocation.serve = Serve::kDra;
  node.streams = false;
  node.registered = {{"example.com/gpu", {kC}}};
  node.entries.push_back({"p1", "main", "example.com/gpu", {kC}, std::nullopt, std::nullopt});
  node.start(false);
  node.pass(31s);
  EXPECT_TRUE(node.ledger.adopted());
  EXPECT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
  EXPECT_EQ(node.prepare("c2", "gpu", {at(kC)}), "group-allocated");
}

TEST_F(LedgerCase, WhereAResourceIsServedToThePluginNoOtherIs) {
  node.settings.resources[1].allocation.serve = Serve::kDra;
  node.record("p1", "other", {"6f0c7a56-0000-4000-8000-00000000000a"});
  node.start();
  node.pass(1min);
  ASSERT_EQ(node.prepare("c1", "other", {at(kB)}), "foreign-ids");
  EXPECT_EQ(node.frame("other"), "none");
  node.forget("p1");
  node.pass(2min);
  EXPECT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
}

TEST_F(LedgerCase, I1_WhoHasAnotherMemberOfAGroupHasTheGroup) {
  node.settings.resources.pop_back();  // nothing of ours selects b
  node.entries.push_back({"p1", "main", "example.com/audio", {kB}, std::nullopt, std::nullopt});
  node.registered["vfiogate.dev/gpu"] = {kA, kC};
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  EXPECT_EQ(node.allocate("gpu", {kA}), "group-allocated");
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.allocate("gpu", {kA}), "granted");
}

}  // namespace
}  // namespace vfiogate
