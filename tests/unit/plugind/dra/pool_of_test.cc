#include "plugind/core/dra/pool_of.h"

#include "tests/unit/plugind/dra/pool_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::kNameA;
using test::kNameB;
using test::kNameC;
using test::PoolCase;
using testing::ElementsAre;

using PoolOf = PoolCase;

constexpr KeptFields kNoCounters{.counters = false, .taints = true};
constexpr KeptFields kNoTaints{.counters = true, .taints = false};

TEST_F(PoolOf, PublishesEveryDeviceWithTheCounterOfItsGroup) {
  node.start();
  const DevicePool made = pool();
  EXPECT_EQ(made.driver, "vfio.example.org");
  EXPECT_EQ(made.name, "node-1");
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 group-31", "0000-01-00-1 group-31",
                                   "0000-02-00-0 group-32"));
  const std::map<std::string, std::set<std::string>> sets{{"groups-0", {"group-31"}},
                                                          {"groups-1", {"group-32"}}};
  EXPECT_EQ(made.counterSets, sets);
  EXPECT_EQ(made.devices.at(kNameA).consumes, (std::set<CounterName>{{"groups-0", "group-31"}}));
}

TEST_F(PoolOf, PublishesMediatedDevicesWithTheirTypeAndParent) {
  constexpr const char* kUuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  node.hardware.add("0000:11:00.0", 40).numaNode = 1;
  node.hardware.addMediated(kUuid, "0000:11:00.0", "nvidia-711", 60).typeName = "NVIDIA A16-4Q";
  node.offer("mdev=nvidia-711", "vgpu");
  node.start();
  const DevicePool made = pool();
  const PoolDevice& device = made.devices.at(kUuid);
  const std::map<std::string, AttributeValue> want{
      {"mdevUUID", kUuid},
      {"mdevType", "nvidia-711"},
      {"mdevTypeName", "NVIDIA A16-4Q"},
      {"parent", "0000:11:00.0"},
      {"resource", "vfiogate.dev/vgpu"},
      {"resource.kubernetes.io/pcieRoot", "pci0000:00"},
      {"driver", "vfio_mdev"},
      {"vfio", "legacy"},
      {"group", std::int64_t{60}},
      {"numaNode", std::int64_t{1}}};
  EXPECT_EQ(device.attributes, want);
  EXPECT_EQ(device.consumes, (std::set<CounterName>{{"groups-1", "group-60"}}));
}

TEST_F(PoolOf, PublishesTheTypesOfVgpus) {
  PciDevice& a = node.hardware.device(kA);
  a.driver = "nvidia";
  a.vgpuType = 1147;
  a.vgpuTypeName = "NVIDIA L40S-1Q";
  node.start();
  const DevicePool made = pool();
  const auto& attributes = made.devices.at(kNameA).attributes;
  EXPECT_EQ(attributes.at("vgpuType"), AttributeValue("1147"));
  EXPECT_EQ(attributes.at("vgpuTypeName"), AttributeValue("NVIDIA L40S-1Q"));
  EXPECT_EQ(attributes.at("driver"), AttributeValue("nvidia"));
  EXPECT_FALSE(made.devices.at(kNameC).attributes.contains("vgpuType"));
}

TEST_F(PoolOf, HasOnlyWhatIsServedThroughDra) {
  node.settings.resources[0].allocation.serve = Serve::kPlugin;
  node.settings.resources[1].allocation.serve = Serve::kDra;
  node.start();
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-1 group-31"));
}

// I5: what the device plugin allocated is no more offered to claims, by the event that allocated
// it.
TEST_F(PoolOf, I5_WhatThePluginAllocatedIsTaintedAtOnceWithItsWholeGroup) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 group-31 allocated",
                                   "0000-01-00-1 group-31 allocated", "0000-02-00-0 group-32"));
  const PoolTaint taint = pool().devices.at(kNameA).taints.front();
  EXPECT_EQ(taint.key, "vfio.example.org/unavailable");
  EXPECT_EQ(taint.since, node.ledger.state().records.front().answeredAt);
  const DevicePool before = pool();
  node.record("p1", "gpu", {kA});
  node.write();
  node.pass(1h);
  EXPECT_EQ(pool(), before) << "answered or allocated is the same to the scheduler";
}

// I5: the scheduler counts what a claim holds by itself.
TEST_F(PoolOf, I5_WhatAClaimHoldsIsNotTaintedAndNorAreItsSiblings) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.use(31, GroupUse::kOpen);
  node.see();
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 group-31", "0000-01-00-1 group-31",
                                   "0000-02-00-0 group-32"));
  node.hardware.device(kB).driver = "snd_hda_intel";
  node.hardware.device(kB).vfioDev.reset();
  node.see();
  EXPECT_EQ(taint(kNameA), "-") << "its own claim holds it";
}

// T39: the counters of a device count only while it is published.
TEST_F(PoolOf, T39_HeldDevicesThatAreGoneStayWithTheCounterOfTheirGroup) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.hardware.remove(kA);
  node.see();
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 group-31 gone", "0000-01-00-1 group-31",
                                   "0000-02-00-0 group-32"));
  EXPECT_EQ(taint(kNameA, kNoTaints), "gone") << "no taint is kept, and it is published";
  node.hardware.remove(kB);
  node.see();
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 gone", "0000-02-00-0 group-32"));
  const DevicePool before = pool();
  node.pass(10min);
  EXPECT_EQ(pool(), before);
  ASSERT_EQ(node.unprepare("c1"), "done");
  EXPECT_THAT(lines(), ElementsAre("0000-02-00-0 group-32"));
}

// T39: a configuration without the device takes it out of offer, not out of the pool.
TEST_F(PoolOf, T39_HeldDevicesStayWhatTheConfigurationSays) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.settings.resources[0].allocation.serve = Serve::kPlugin;
  node.settings.resources.pop_back();
  node.see();
  EXPECT_THAT(lines(), ElementsAre("0000-01-00-0 group-31"));
  ASSERT_EQ(node.unprepare("c1"), "done");
  EXPECT_TRUE(lines().empty());
}

TEST_F(PoolOf, TaintsWhatCannotBeHad) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(taint(kNameA), "lingering");
  EXPECT_EQ(taint(kNameB), "lingering");
  setUse(32, GroupUse::kOpen);
  node.pass(10s);
  EXPECT_EQ(taint(kNameC), "foreign");
  const DevicePool before = pool();
  node.pass(1h);
  EXPECT_EQ(pool(), before) << "the times are the state's";
}

TEST_F(PoolOf, TaintsByHardwareWithItsCode) {
  node.start();
  PciDevice& c = node.hardware.device(kC);
  c.driver = "nouveau";
  c.vfioDev.reset();
  c.cdevNode = false;
  node.move(5s);
  node.see();
  EXPECT_EQ(taint(kNameC), "host-driver");
  EXPECT_EQ(pool().devices.at(kNameC).taints.front().since, node.now.seconds());
  const DevicePool before = pool();
  node.pass(30min);
  node.see();
  EXPECT_EQ(pool(), before);
  node.settings.resources[0].allocation.onAllocate = true;
  node.facts.bindable.insert(IommuGroupId(32));
  node.see();
  EXPECT_EQ(taint(kNameC), "-") << "it would be bound";
  node.facts.excluded.insert(IommuGroupId(32));
  node.see();
  EXPECT_EQ(taint(kNameC), "operator-excluded");
}

TEST_F(PoolOf, TaintsWhatRestsAndAllWhilePrivdIsAwayForLong) {
  node.start();
  for (int i = 0; i < 12; ++i) {
    node.hardware.device(kC).answers = i % 2 != 0;
    node.move(1s);
    node.see();
  }
  EXPECT_EQ(taint(kNameC), "flapping");
  node.run(node.ledger.privdWent(node.now));
  const auto went = node.now.seconds();
  EXPECT_EQ(taint(kNameA), "-") << "grace";
  node.pass(61s);
  EXPECT_EQ(taint(kNameA), "privd-away");
  EXPECT_EQ(pool().devices.at(kNameA).taints.front().since, went);
}

TEST_F(PoolOf, WithoutCountersHasOneDeviceOfEachGroupAndWhatClaimsHold) {
  node.start();
  EXPECT_THAT(lines(kNoCounters), ElementsAre("0000-01-00-0", "0000-02-00-0"));
  EXPECT_TRUE(pool(kNoCounters).counterSets.empty());
  ASSERT_EQ(node.prepare("c1", "other", {at(kB)}), "granted");
  EXPECT_THAT(lines(kNoCounters), ElementsAre("0000-01-00-1", "0000-02-00-0"));
}

TEST_F(PoolOf, WithoutTaintsLeavesOutWhatWouldHaveOne) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kC)}), "granted");
  EXPECT_THAT(lines(kNoTaints), ElementsAre("0000-02-00-0 group-32"));
}

TEST_F(PoolOf, OfWholeGroupsHasOneWhichStays) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
  for (const Serve serve : {Serve::kDra, Serve::kBoth}) {
    test::LedgerNode one;
    one.hardware = node.hardware;
    one.hardware.remove(kA);
    one.settings = node.settings;
    one.settings.resources[0].allocation.serve = serve;
    one.start();
    const auto names = [&one]() {
      std::vector<std::string> all;
      for (const auto& [name, device] : poolOf(one.settings, one.ledger.state(), "n", {}).devices) {
        all.push_back(name);
      }
      return all;
    };
    EXPECT_THAT(names(), ElementsAre(kNameB, kNameC));
    one.hardware.add(kA, 31);
    one.see();
    EXPECT_THAT(names(), ElementsAre(kNameB, kNameC)) << "a lower function later changes nothing";
    ASSERT_EQ(one.prepare("c1", "gpu", {at(kA)}), "granted") << "any member stands for the unit";
    EXPECT_THAT(names(), ElementsAre(kNameA, kNameC));
  }
}

TEST_F(PoolOf, SaysOfADeviceWhatSelectorsNeed) {
  PciDevice& a = node.hardware.device(kA);
  a.numaNode = 1;
  a.sriov = SriovRole::kVirtualFunction;
  a.physicalFunction = at("0000:01:00.7");
  a.driver = std::string(70, 'x');
  a.slot = "4-1";
  a.rootPort = at("0000:00:01.0");
  node.hardware.device(kC).cdevNode = false;
  node.hardware.device(kC).pcieRoot.clear();
  node.settings.resources[0].name =
      *ResourceName::parse(std::string(60, 'a') + ".org/" + std::string(63, 'g'));
  node.start();
  const DevicePool made = pool();
  const std::map<std::string, AttributeValue> want{
      {"class", "030000"},
      {"device", "2684"},
      {"driver", std::string(64, 'x')},
      {"group", std::int64_t{31}},
      {"numaNode", std::int64_t{1}},
      {"physicalFunction", "0000:01:00.7"},
      {"resource", std::string(63, 'g')},
      {"resource.kubernetes.io/pciBusID", kA},
      {"resource.kubernetes.io/pcieRoot", "pci0000:00"},
      {"rootPort", "0000:00:01.0"},
      {"slot", "4-1"},
      {"sriov", "vf"},
      {"vendor", "10de"},
      {"vfio", "both"},
  };
  EXPECT_EQ(made.devices.at(kNameA).attributes, want);
  const auto& c = made.devices.at(kNameC).attributes;
  EXPECT_EQ(c.at("vfio"), AttributeValue("legacy"));
  EXPECT_EQ(c.at("sriov"), AttributeValue("none"));
  EXPECT_FALSE(c.contains("numaNode"));
  EXPECT_FALSE(c.contains("resource.kubernetes.io/pcieRoot"));
  EXPECT_FALSE(c.contains("slot"));
  EXPECT_FALSE(c.contains("rootPort"));
}

}  // namespace
}  // namespace vfiogate
