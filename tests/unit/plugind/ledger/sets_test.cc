// Fixed sets: units that go to one holder together. Whoever has one keeps the groups of all.

#include <gmock/gmock.h>

#include "plugind/core/dra/claim_request.h"
#include "plugind/core/dra/pool_of.h"
#include "plugind/core/ledger/locality.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/sets_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::Sets;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(Sets, EachIsOneDeviceOfItsResource) {
  node.start();
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(node.frame("quad"), "set:all+");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+ 0000:03:00.0+ 0000:04:00.0+");
}

TEST_F(Sets, TheAnswerNamesAllItsDevices) {
  node.start();
  const CallId call = node.ask("pair", {kRight});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(node.answers.at(call).response->environment,
              ElementsAre(Pair("PCI_RESOURCE_VFIOGATE_DEV_PAIR", "0000:03:00.0,0000:04:00.0")));
  EXPECT_THAT(node.answers.at(call).response->nodes,
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/33", "/dev/vfio/34"));
}

TEST_F(Sets, I1_WhoHasASetKeepsTheGroupsOfAllItsDevices) {
  node.start();
  hold("p1", "pair", kLeft);
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(node.frame("quad"), "set:all-");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0- 0000:03:00.0+ 0000:04:00.0+");
  EXPECT_EQ(node.allocate("quad", {kAll}), "group-allocated");
  EXPECT_EQ(node.allocate("gpu", {kGpu[1]}), "group-allocated");
  EXPECT_EQ(node.allocate("pair", {kRight}), "granted");
}

TEST_F(Sets, I1_WhoHasOneDeviceKeepsItsSetsFromOthers) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kGpu[2]}), "granted");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right-");
  EXPECT_EQ(node.frame("quad"), "set:all-");
  EXPECT_EQ(node.allocate("pair", {kRight}), "group-allocated");
  EXPECT_EQ(holdings(), "--+-") << "the refused set keeps nothing";
}

/// Of one resource, too: a set that shares a device is no re-offer of the other.
TEST_F(Sets, I1_ASetThatSharesADeviceIsNoReoffer) {
  offerSets("beside", {{"a", {at(kGpu[0]), at(kGpu[1])}}, {"b", {at(kGpu[1]), at(kGpu[2])}}});
  node.start();
  ASSERT_EQ(node.allocate("beside", {"set:a"}), "granted");
  EXPECT_EQ(node.frame("beside"), "set:a+ set:b-");
  EXPECT_EQ(node.allocate("beside", {"set:b"}), "group-allocated");
  EXPECT_EQ(node.allocate("beside", {"set:a"}), "granted") << "the kubelet offers the same again";
}

TEST_F(Sets, TwoThatShareADeviceAreNotAllocatedAtOnce) {
  offerSets("beside", {{"a", {at(kGpu[0]), at(kGpu[1])}}, {"b", {at(kGpu[1]), at(kGpu[2])}}});
  node.start();
  const CallId call = node.ask("beside", {"set:a", "set:b"});
  EXPECT_EQ(node.outcome(call), "sets-overlap");
  EXPECT_THAT(node.text(call), HasSubstr(kGpu[1]));
  EXPECT_EQ(holdings(), "----");
}

TEST_F(Sets, PreferredAreSetsThatShareNothing) {
  offerSets("beside", {{"a", {at(kGpu[0]), at(kGpu[1])}},
                       {"b", {at(kGpu[1]), at(kGpu[2])}},
                       {"c", {at(kGpu[2]), at(kGpu[3])}}});
  node.start();
  const Locality locality =
      localityOf(node.ledger.state(), test::resource("beside"), node.now.instant);
  PreferredRequest request{.available = {"set:a", "set:b", "set:c"}, .mustInclude = {}, .size = 2};
  EXPECT_THAT(preferredDevices(request, locality.candidates), ElementsAre("set:a", "set:c"));
  request.mustInclude = {"set:b"};
  EXPECT_THAT(preferredDevices(request, locality.candidates), ElementsAre("set:b"));
}

TEST_F(Sets, AllIsFreeWhenThePodIsGoneAndAllIsIdle) {
  node.start();
  hold("p1", "quad", kAll);
  node.forget("p1");
  node.pass(1s);
  node.write();
  node.pass(90s);
  EXPECT_EQ(holdings(), "----");
  EXPECT_EQ(node.frame("quad"), "set:all+");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "granted");
}

TEST_F(Sets, I1_OneDeviceThatIsStillOpenKeepsTheSet) {
  node.start();
  hold("p1", "pair", kLeft);
  node.use(32, GroupUse::kOpen);
  node.see();
  node.forget("p1");
  node.pass(1s);
  node.write();
  node.pass(90s);
  EXPECT_EQ(node.holding(kGpu[1]), Holding::kLingering);
  EXPECT_EQ(node.frame("pair"), "set:left- set:right+");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "still-open");
  node.use(32, GroupUse::kIdle);
  node.see();
  node.pass(90s);
  EXPECT_EQ(node.allocate("pair", {kLeft}), "granted");
}

TEST_F(Sets, I1_OneDeviceThatAStrangerHasOpenKeepsTheSet) {
  node.start();
  node.use(31, GroupUse::kOpen);
  node.see();
  node.pass(5s);
  EXPECT_EQ(node.frame("pair"), "set:left- set:right+");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "foreign");
}

TEST_F(Sets, APodStartsWithIt) {
  node.start();
  hold("p1", "pair", kLeft);
  EXPECT_EQ(node.preStart("pair", {kLeft}), "done");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "starting");
  EXPECT_EQ(node.preStart("quad", {kAll}), "held-by-other");
}

TEST_F(Sets, OneThatNamesAMissingDeviceIsShownUnhealthyAndSaysWhich) {
  node.hardware.remove(kGpu[3]);
  node.start();
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right-");
  EXPECT_EQ(node.allocate("pair", {kRight}), "not-viable:gone");
  const PluginStatus status = statusOf(node.ledger.state(), {});
  const auto& pair = status.resources.at(1);
  ASSERT_EQ(pair.name.str(), "vfiogate.dev/pair");
  ASSERT_THAT(pair.sets, SizeIs(2));
  EXPECT_EQ(pair.sets[1].reason, "gone");
  EXPECT_THAT(pair.sets[1].reasonText, HasSubstr("0000:04:00.0: there is no such device"));
  EXPECT_EQ(pair.sets[0].reason, "offered");
  const auto third = std::ranges::find(pair.devices, UnitId(at(kGpu[2])), &DeviceStatus::address);
  ASSERT_NE(third, pair.devices.end());
  EXPECT_EQ(third->reason, "set-incomplete");
}

TEST_F(Sets, OneWithAnExcludedDeviceIsNotAllocated) {
  node.settings.exclude.push_back(*Selector::parse("address=0000:01:00.0"));
  node.start();
  EXPECT_EQ(node.frame("pair"), "set:left- set:right+");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "not-viable:excluded");
}

TEST_F(Sets, ADeviceThatNothingElseSelectsIsInItsSetsAlone) {
  node.settings.resources.erase(node.settings.resources.begin());
  node.start();
  EXPECT_THAT(node.ledger.state().catalog.leftOut, IsEmpty());
  const Explanation told = explain(node.settings, node.ledger.state(), at(kGpu[0]));
  EXPECT_EQ(told.reason, "offered");
  EXPECT_THAT(told.lines, Contains(HasSubstr("allocated together with its set: left")));
}

TEST_F(Sets, ClaimsSeeADeviceThatConsumesTheCountersOfAllItsGroups) {
  node.start();
  const DevicePool published = pool();
  const PoolDevice& left = published.devices.at("set-left");
  EXPECT_THAT(left.consumes, UnorderedElementsAre(CounterName{"sets-0", "group-31"},
                                                  CounterName{"sets-0", "group-32"}));
  EXPECT_THAT(published.devices.at("set-all").consumes, SizeIs(4));
  EXPECT_THAT(published.devices.at("0000-01-00-0").consumes,
              ElementsAre(CounterName{"sets-0", "group-31"}));
  EXPECT_EQ(std::get<std::string>(left.attributes.at("set")), "left");
  EXPECT_EQ(std::get<std::int64_t>(left.attributes.at("setSize")), 2);
  EXPECT_EQ(std::get<std::string>(left.attributes.at("device")), "2684");
  EXPECT_THAT(left.attributes, Not(Contains(Key("group"))));
}

TEST_F(Sets, WithoutCountersOnlySetsAreThereThatMeetNothingElse) {
  node.settings.resources.erase(node.settings.resources.begin());
  node.start();
  EXPECT_THAT(pool(false).devices, ElementsAre(Pair("set-all", testing::_))) << "the pairs meet it";
}

TEST_F(Sets, AClaimIsPreparedWithAllItsDevices) {
  node.start();
  const ClaimName name{"u1", "ns", "claim-u1"};
  const auto request =
      requestOf(name, claimOf("set-left"), node.settings, node.ledger.state(), "node");
  ASSERT_TRUE(request) << request.error();
  EXPECT_THAT(request->devices,
              ElementsAre(Pair(test::resource("pair"),
                               ElementsAre(UnitId(at(kGpu[0])), UnitId(at(kGpu[1]))))));
  const CallId call(++node.lastCall);
  node.run(node.ledger.prepareAsked(call, *request, node.now.instant, node.now));
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("quad"), "set:all-");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "group-allocated");
  const auto prepared = preparedDevices(
      claimOf("set-left"), {{at(kGpu[0]), "name-1"}, {at(kGpu[1]), "name-2"}}, request->sets);
  ASSERT_THAT(prepared, SizeIs(1));
  EXPECT_THAT(prepared.front().cdiNames, ElementsAre("name-1", "name-2"));
  EXPECT_THAT(pool().devices.at("set-left").taints, IsEmpty()) << "the scheduler counts it";
  EXPECT_EQ(node.unprepare("u1"), "done");
  EXPECT_EQ(holdings(), "----");
}

TEST_F(Sets, I1_AClaimGetsNoPartOfASet) {
  node.settings.resources.erase(node.settings.resources.begin());
  node.start();
  const ClaimName name{"u1", "ns", "claim-u1"};
  const auto part =
      requestOf(name, claimOf("0000-01-00-0"), node.settings, node.ledger.state(), "node");
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error(), HasSubstr("allocated with its set only"));
  const auto none =
      requestOf(name, claimOf("set-none"), node.settings, node.ledger.state(), "node");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("is no set that is configured"));
}

TEST_F(Sets, AClaimGetsNoneThatHasAnExcludedDevice) {
  node.settings.exclude.push_back(*Selector::parse("address=" + std::string(kGpu[1])));
  node.start();
  const ClaimName name{"u1", "ns", "claim-u1"};
  const auto request =
      requestOf(name, claimOf("set-left"), node.settings, node.ledger.state(), "node");
  ASSERT_TRUE(request) << request.error();
  const CallId call(++node.lastCall);
  node.run(node.ledger.prepareAsked(call, *request, node.now.instant, node.now));
  EXPECT_EQ(node.outcome(call), "not-viable:excluded");
  EXPECT_EQ(holdings(), "----");
}

TEST_F(Sets, WhatThePluginHasIsTaintedForClaims) {
  node.start();
  hold("p1", "gpu", kGpu[0]);
  EXPECT_THAT(pool().devices.at("set-left").taints, SizeIs(1));
  EXPECT_THAT(pool().devices.at("set-right").taints, IsEmpty());
}

}  // namespace
}  // namespace vfiogate
