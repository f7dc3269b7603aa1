// Fixed sets: units that go to one holder together. Whoever has one keeps the groups of all.

#include <gmock/gmock.h>

#include "plugind/core/dra/claim_request.h"
#include "plugind/core/dra/pool_of.h"
#include "plugind/core/ledger/locality.h"
#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::array<const char*, 4> kGpu{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                          "0000:04:00.0"};
constexpr const char* kAll = "set:all";
constexpr const char* kLeft = "set:left";
constexpr const char* kRight = "set:right";

/// Four GPUs in groups 31 to 34: one at a time, in pairs, and all together.
class Sets : public testing::Test {
protected:
  Sets() {
    for (std::uint32_t i = 0; i < kGpu.size(); ++i) node.hardware.add(kGpu[i], 31 + i);
    node.offer("device=2684", "gpu");
    offerSets("pair",
              {{"left", {at(kGpu[0]), at(kGpu[1])}}, {"right", {at(kGpu[2]), at(kGpu[3])}}});
    offerSets("quad", {{"all", {at(kGpu[0]), at(kGpu[1]), at(kGpu[2]), at(kGpu[3])}}});
    node.settings.dra.driver = "vfio.vfiogate.dev";
  }

  ResourceSettings& offerSets(std::string_view name, std::vector<DeviceSet> sets) {
    ResourceSettings entry;
    entry.name = test::resource(name);
    entry.sets = std::move(sets);
    entry.setsOverlap = true;
    entry.allocation.serve = Serve::kBoth;
    node.settings.resources.push_back(std::move(entry));
    return node.settings.resources.back();
  }

  void hold(const std::string& pod, std::string_view name, const std::string& id) {
    const CallId call = node.ask(name, {id});
    ASSERT_EQ(node.outcome(call), "granted") << node.text(call);
    node.pass(100ms);
    node.record(pod, name, {id});
    const auto& annotations = node.answers.at(call).response->annotations;
    node.entries.back().allocated = annotations.at(kAllocated);
    node.write();
  }

  std::string holdings() const {
    std::string all;
    for (const char* gpu : kGpu) all += node.holding(gpu) == Holding::kFree ? "-" : "+";
    return all;
  }

  DevicePool pool(bool counters = true) const {
    return poolOf(node.settings, node.ledger.state(), "node",
                  {.counters = counters, .taints = true, .api = std::nullopt});
  }

  static AllocatedClaim claimOf(const std::string& device) {
    AllocatedClaim claim{};
    claim.uid = "u1";
    claim.allocated = true;
    AllocatedDevice one{};
    one.request = "gpus";
    one.pool = "node";
    one.device = device;
    claim.devices.push_back(one);
    return claim;
  }

  static constexpr const char* kAllocated = "vfiogate.dev/allocated";
  test::LedgerNode node;
};

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

TEST_F(Sets, I5_AfterARestartTheKubeletsMemoryNamesAllItsDevices) {
  node.record("p1", "pair", {kLeft});
  node.start();
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(node.allocate("gpu", {kGpu[0]}), "not-shown");
}

/// What was recorded with the answer counts, not what the configuration has become.
TEST_F(Sets, I5_ASetThatWasChangedMeanwhileKeepsWhatWasAllocated) {
  node.start();
  hold("p1", "pair", kLeft);
  test::LedgerNode next;
  next.hardware = node.hardware;
  next.settings = node.settings;
  next.settings.resources[1].sets = {{"left", {at(kGpu[0]), at(kGpu[2])}}};
  next.entries = node.entries;
  next.start();
  EXPECT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
  EXPECT_EQ(next.holding(kGpu[0]), Holding::kAllocated);
  EXPECT_EQ(next.holding(kGpu[2]), Holding::kFree);
}

TEST_F(Sets, I5_ASetThatIsNotConfiguredAnyMoreStaysItsPods) {
  node.start();
  hold("p1", "pair", kLeft);
  node.settings.resources.erase(node.settings.resources.begin() + 1);
  node.see();
  EXPECT_EQ(holdings(), "++--");
  EXPECT_EQ(node.frame("pair"), "set:left+ set:right-");
  node.pass(61s);
  EXPECT_EQ(node.frame("pair"), "set:left+");
}

TEST_F(Sets, ASetThatNothingIsKnownOfKeepsItsResourceFromGrowing) {
  node.record("p1", "pair", {"set:other"});
  node.start();
  EXPECT_EQ(node.frame("pair"), "set:left- set:right-");
  EXPECT_EQ(node.allocate("pair", {kLeft}), "foreign-ids");
}

TEST_F(Sets, PrivdsRecordSaysByWhichSetTheDevicesWereAllocated) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  const auto noted = allocationsIn(notes.at(IommuGroupId(31)));
  ASSERT_THAT(noted, SizeIs(1));
  EXPECT_EQ(noted.front().set, kLeft);
  test::LedgerNode next;
  next.hardware = node.hardware;
  next.settings = node.settings;
  next.readable = false;
  next.noCheckpoint = true;
  next.recorded.emplace();
  for (const auto& [group, note] : notes) {
    next.recorded->groups.push_back({.members = {at(kGpu[group.number() - 31])}, .note = note});
  }
  next.start(false);
  EXPECT_EQ(next.frame("pair"), "set:left+ set:right+");
  EXPECT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
}

/// Its groups are let go one by one, and plugind may be killed in between.
TEST_F(Sets, I5_ASetThatWasLetGoInPartIsNotHealthyBesideAnotherPod) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  test::LedgerNode next;
  next.hardware = node.hardware;
  next.settings = node.settings;
  next.recorded.emplace();
  next.recorded->groups.push_back({.members = {at(kGpu[1])}, .note = notes.at(IommuGroupId(32))});
  next.start();
  ASSERT_EQ(next.holding(kGpu[1]), Holding::kAllocated);
  ASSERT_EQ(next.holding(kGpu[0]), Holding::kFree);
  EXPECT_EQ(next.frame("pair"), "set:left+ set:right+");
  ASSERT_EQ(next.allocate("gpu", {kGpu[0]}), "granted");
  EXPECT_EQ(next.frame("pair"), "set:left- set:right+");
  EXPECT_EQ(next.allocate("pair", {kLeft}), "group-allocated");
}

/// Where a card came back without its other function, privd's record may be of that one alone.
TEST_F(Sets, I5_ASetWithARecordOfAnotherFunctionIsNotHealthyBesideAnotherPod) {
  node.start();
  hold("p1", "pair", kLeft);
  const GroupNotes notes = notesOf(node.ledger.state());
  test::LedgerNode next;
  next.hardware = node.hardware;
  next.settings = node.settings;
  next.recorded.emplace();
  next.recorded->groups = {{.members = {at(kGpu[0])}, .note = notes.at(IommuGroupId(31))},
                           {.members = {at("0000:02:00.1")}, .note = notes.at(IommuGroupId(32))}};
  next.start();
  ASSERT_EQ(next.holding(kGpu[1]), Holding::kFree);
  ASSERT_EQ(next.allocate("gpu", {kGpu[1]}), "granted");
  EXPECT_EQ(next.frame("pair"), "set:left- set:right+");
}

/// I4 and a configuration that changed meanwhile: what it was before is held whole.
TEST_F(Sets, I4_ASetThatHasOtherDevicesByNowStaysHealthyBesideWhoeverHasThose) {
  node.start();
  hold("p1", "pair", kLeft);
  node.settings.resources[1].sets = {{"left", {at(kGpu[0]), at(kGpu[2])}}};
  node.see();
  ASSERT_EQ(node.allocate("gpu", {kGpu[2]}), "granted");
  EXPECT_THAT(node.frame("pair"), HasSubstr("set:left+"));
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
  node.run(node.ledger.prepareAsked(call, *request, node.now));
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

TEST_F(Sets, WhatThePluginHasIsTaintedForClaims) {
  node.start();
  hold("p1", "gpu", kGpu[0]);
  EXPECT_THAT(pool().devices.at("set-left").taints, SizeIs(1));
  EXPECT_THAT(pool().devices.at("set-right").taints, IsEmpty());
}

}  // namespace
}  // namespace vfiogate
