#include "netd/dra/slices/slice_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const SliceOwner kNode{"n1", "node-uid"};

std::string deviceName(std::size_t number) {
  const std::string digits = std::to_string(number);
  return "dev-" + std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

/// Each device consumes a counter of its own, 32 in a set.
DevicePool poolOf(std::size_t devices) {
  DevicePool pool{.driver = "d.example", .name = "n1", .devices = {}, .counterSets = {}};
  for (std::size_t i = 0; i < devices; ++i) {
    const CounterName counter{"groups-" + std::to_string(i / 32), "group-" + std::to_string(i)};
    pool.counterSets[counter.set].insert(counter.counter);
    pool.devices[deviceName(i)].consumes = {counter};
  }
  return pool;
}

/// What the writes make of the observed slices, by a server that keeps everything.
ObservedSlices afterWrites(ObservedSlices slices, const std::vector<SliceWrite>& writes) {
  int version = 100;
  for (const SliceWrite& write : writes) {
    if (write.kind == SliceWrite::Kind::kDelete) {
      slices.erase(write.slice.name);
      continue;
    }
    Slice stored = write.slice;
    if (stored.uid.empty()) stored.uid = "uid-" + stored.name;
    stored.resourceVersion = std::to_string(++version);
    slices[stored.name] = stored;
  }
  return slices;
}

SlicePlan plan(const DevicePool& pool, const ObservedSlices& observed,
               const SliceEchoes& echoes = {}) {
  auto planned = planSlices(pool, kNode, observed, echoes);
  EXPECT_TRUE(planned) << (planned ? "" : planned.error());
  return planned ? std::move(planned).value() : SlicePlan{};
}

ObservedSlices published(const DevicePool& pool) {
  return afterWrites({}, plan(pool, {}).writes);
}

std::vector<std::string> acts(const SlicePlan& plan) {
  std::vector<std::string> said;
  for (const SliceWrite& write : plan.writes) {
    const char* kind = write.kind == SliceWrite::Kind::kCreate   ? "create "
                       : write.kind == SliceWrite::Kind::kUpdate ? "update "
                                                                 : "delete ";
    said.push_back(kind + write.slice.name + " g" + std::to_string(write.slice.spec.generation));
  }
  return said;
}

TEST(SlicePlan, CountersComeFirstInSlicesOfTheirOwn) {
  EXPECT_THAT(acts(plan(poolOf(70), {})),
              ElementsAre("create n1-d.example-counters-000 g1", "create n1-d.example-000 g1",
                          "create n1-d.example-001 g1"));
}

TEST(SlicePlan, NoSliceIsLargerThanTheServerTakes) {
  const SlicePlan large = plan(poolOf(4096), {});
  EXPECT_THAT(large.wanted, SizeIs(64 + 16));
  for (const Slice& slice : large.wanted) {
    EXPECT_LE(slice.spec.devices.size(), 64U);
    EXPECT_LE(slice.spec.counterSets.size(), 8U);
    EXPECT_TRUE(slice.spec.devices.empty() != slice.spec.counterSets.empty()) << slice.name;
    EXPECT_EQ(slice.spec.sliceCount, 80);
    EXPECT_EQ(slice.owner, kNode);
  }
}

TEST(SlicePlan, SteadyStateMakesNoWrites) {
  for (const std::size_t devices : {0U, 1U, 70U, 300U}) {
    EXPECT_THAT(plan(poolOf(devices), published(poolOf(devices))).writes, IsEmpty()) << devices;
  }
}

TEST(SlicePlan, OneChangedSliceKeepsItsGeneration) {
  DevicePool pool = poolOf(130);
  const ObservedSlices before = published(pool);
  pool.devices[deviceName(64)].taints.push_back({"d.example/held", "plugin", {}});
  const SlicePlan changed = plan(pool, before);
  EXPECT_THAT(acts(changed), ElementsAre("update n1-d.example-001 g1"));
  EXPECT_EQ(changed.writes.at(0).slice.resourceVersion,
            before.at("n1-d.example-001").resourceVersion);
}

TEST(SlicePlan, SeveralChangedSlicesGetANewGenerationWithAllOthers) {
  DevicePool pool = poolOf(130);
  const ObservedSlices before = published(pool);
  pool.devices[deviceName(0)].taints.push_back({"d.example/held", "plugin", {}});
  pool.devices[deviceName(64)].taints.push_back({"d.example/held", "plugin", {}});
  EXPECT_THAT(acts(plan(pool, before)),
              ElementsAre("update n1-d.example-counters-000 g2", "update n1-d.example-000 g2",
                          "update n1-d.example-001 g2", "update n1-d.example-002 g2"));
}

TEST(SlicePlan, ADeviceStaysInItsSlice) {
  DevicePool pool = poolOf(64);
  for (auto& [name, device] : pool.devices) device.consumes.clear();
  pool.counterSets.clear();
  pool.devices["z"] = {};
  const ObservedSlices before = published(pool);
  pool.devices.erase(deviceName(3));
  EXPECT_THAT(acts(plan(pool, before)), ElementsAre("update n1-d.example-000 g1"));
  pool.devices["a-new-one"] = {};
  const SlicePlan grown = plan(pool, before);
  EXPECT_THAT(acts(grown), ElementsAre("update n1-d.example-000 g1"));
  EXPECT_TRUE(grown.wanted.at(0).spec.devices.contains("a-new-one"));
  EXPECT_TRUE(grown.wanted.at(1).spec.devices.contains("z"));
}

TEST(SlicePlan, ADeviceThatStandsTwiceIsKeptOnce) {
  const DevicePool pool = poolOf(65);
  ObservedSlices before = published(pool);
  before.at("n1-d.example-001").spec.devices[deviceName(3)] =
      before.at("n1-d.example-000").spec.devices[deviceName(3)];
  EXPECT_THAT(acts(plan(pool, before)), ElementsAre("update n1-d.example-001 g1"));
}

TEST(SlicePlan, WhatIsNotOursAndOfOurDriverAndNodeGoesFirst) {
  const DevicePool pool = poolOf(1);
  ObservedSlices before = published(pool);
  Slice old = before.at("n1-d.example-000");
  old.name = "d.example-n1-x7k2p";
  before[old.name] = old;
  EXPECT_THAT(acts(plan(pool, before)), ElementsAre("delete d.example-n1-x7k2p g1"));
  before[old.name].spec.pool = "another";
  before.erase("n1-d.example-000");
  EXPECT_THAT(acts(plan(pool, before)),
              ElementsAre("delete d.example-n1-x7k2p g1", "update n1-d.example-counters-000 g2",
                          "create n1-d.example-000 g2"));
}

TEST(SlicePlan, APoolThatShrinksLosesItsSlices) {
  const ObservedSlices before = published(poolOf(65));
  EXPECT_THAT(acts(plan(poolOf(64), before)),
              ElementsAre("delete n1-d.example-001 g1", "update n1-d.example-counters-000 g2",
                          "update n1-d.example-000 g2"));
  EXPECT_THAT(acts(plan(poolOf(0), before)),
              ElementsAre("delete n1-d.example-counters-000 g1", "delete n1-d.example-000 g1",
                          "delete n1-d.example-001 g1"));
}

TEST(SlicePlan, OutsideChangesAreUndone) {
  const DevicePool pool = poolOf(70);
  const std::vector<std::pair<const char*, void (*)(Slice&)>> rows = {
      {"a device is gone", [](Slice& s) { s.spec.devices.erase(deviceName(66)); }},
      {"a stale generation", [](Slice& s) { s.spec.generation = 0; }},
      {"a wrong count", [](Slice& s) { s.spec.sliceCount = 9; }},
      {"another owner", [](Slice& s) { s.owner.reset(); }},
      {"strange words", [](Slice& s) { s.spec.strange = "{}"; }},
  };
  for (const auto& [name, change] : rows) {
    ObservedSlices before = published(pool);
    change(before.at("n1-d.example-001"));
    const SlicePlan repaired = plan(pool, before);
    EXPECT_THAT(acts(repaired), ElementsAre("update n1-d.example-001 g1")) << name;
    EXPECT_THAT(plan(pool, afterWrites(before, repaired.writes)).writes, IsEmpty()) << name;
  }
  ObservedSlices before = published(pool);
  before.erase("n1-d.example-000");
  EXPECT_THAT(acts(plan(pool, before)), ElementsAre("create n1-d.example-000 g1"));
}

TEST(SlicePlan, NobodyCanLeaveUsWithoutAHigherGeneration) {
  const DevicePool pool = poolOf(1);
  for (const std::int64_t generation :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    ObservedSlices before = published(pool);
    before.at("n1-d.example-000").spec.generation = generation;
    const SlicePlan repaired = plan(pool, before);
    EXPECT_THAT(repaired.writes.at(0).kind, SliceWrite::Kind::kDelete);
    const ObservedSlices after = afterWrites(before, repaired.writes);
    EXPECT_THAT(plan(pool, after).writes, IsEmpty());
    EXPECT_EQ(after.at("n1-d.example-000").spec.generation, 2);
  }
}

TEST(SlicePlan, ANameThatSomebodyElseHasIsAnErrorInWords) {
  ObservedSlices before;
  Slice other{.name = "n1-d.example-000", .uid = "u", .resourceVersion = "1"};
  other.spec.driver = "example";
  other.spec.node = "n1-d";
  before[other.name] = other;
  const auto planned = planSlices(poolOf(1), kNode, before, {});
  ASSERT_FALSE(planned);
  EXPECT_THAT(planned.error(),
              HasSubstr("n1-d.example-000 is taken by a ResourceSlice of driver example"));
}

TEST(SlicePlan, APoolThatNoServerTakesIsAnErrorInWords) {
  DevicePool pool = poolOf(33);
  pool.counterSets["groups-0"].insert("group-more");
  EXPECT_THAT(planSlices(pool, kNode, {}, {}).error(), HasSubstr("groups-0 has more than 32"));
  pool = poolOf(1);
  pool.counterSets["groups-0"] = {"another"};
  EXPECT_THAT(planSlices(pool, kNode, {}, {}).error(), HasSubstr("does not have"));
}

TEST(SlicePlan, AServerThatDropsFieldsIsNotWrittenToWithoutEnd) {
  const DevicePool pool = poolOf(1);
  const SlicePlan first = plan(pool, {});
  ObservedSlices stored = afterWrites({}, first.writes);
  SliceEchoes echoes;
  for (auto& [name, slice] : stored) {
    SliceEcho echo{.sent = slice.spec, .stored = slice.spec};
    echo.stored.counterSets.clear();
    for (auto& [device, said] : echo.stored.devices) said.consumes.clear();
    slice.spec = echo.stored;
    echoes[name] = echo;
  }
  EXPECT_THAT(plan(pool, stored, echoes).writes, IsEmpty());
  EXPECT_THAT(plan(pool, stored).writes, SizeIs(2)) << "who does not know it has to try";
  DevicePool changed = pool;
  changed.devices.begin()->second.attributes["model"] = std::string("x");
  EXPECT_THAT(acts(plan(changed, stored, echoes)), ElementsAre("update n1-d.example-000 g1"));
}

TEST(KeptFields, TellsWhatTheServerDropped) {
  SliceSpec sent;
  sent.devices["a"].consumes = {{"s", "c"}};
  sent.devices["a"].taints = {{"k", "v", {}}};
  EXPECT_EQ(keptOf(sent, sent), (KeptFields{.counters = true, .taints = true}));
  SliceSpec stored = sent;
  stored.devices["a"].consumes.clear();
  EXPECT_EQ(keptOf(sent, stored), (KeptFields{.counters = false, .taints = true}));
  stored = sent;
  stored.devices["a"].taints.clear();
  EXPECT_EQ(keptOf(sent, stored), (KeptFields{.counters = true, .taints = false}));
  SliceSpec sets;
  sets.counterSets["s"] = {"c"};
  EXPECT_EQ(keptOf(sets, SliceSpec{}), (KeptFields{.counters = false, .taints = true}));
}

}  // namespace
}  // namespace vfiogate
