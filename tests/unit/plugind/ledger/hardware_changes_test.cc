// The named tests of ledger.md 17 about hardware, privd's absence and reloads.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
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

void unbind(PciDevice& device, const char* driver) {
  device.driver = driver;
  device.vfioDev.reset();
  device.cdevNode = false;
}

// 17, I3.
TEST_F(LedgerCase, PrivdDownInAllocate) {
  node.start();
  node.run(node.ledger.privdWent(node.now));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "grace";
  const CallId first = node.ask("gpu", {kA});
  EXPECT_EQ(node.outcome(first), "waits");
  node.pass(5s);
  EXPECT_EQ(node.outcome(first), "privd-away");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0-") << "the refusal is evidence";
  for (int i = 0; i < 9; ++i) EXPECT_EQ(node.allocate("gpu", {kA}), "privd-away");
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

TEST_F(LedgerCase, GraceEndsAndHeldDevicesStayHealthy) {
  node.start();
  hold("p1", "gpu", {kA});
  node.run(node.ledger.privdWent(node.now));
  node.pass(59s);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  node.pass(2s);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
}

// 18, I1.
TEST_F(LedgerCase, RebootNewNumbers) {
  node.see();
  node.record("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.hardware.regroup(kA, 13);
  node.start();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
  node.settings.resources[0].allocation.injectCdi = true;
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes") << "nodes that were given stay nodes";
  node.entries[0].allocated = byName(*node.entries[0].allocated);
  node.write();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.hardware.device(kA).vendor = std::uint16_t{0x1002};
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

// Its ids begin as the boot's field does.
TEST_F(LedgerCase, I1_NewNumbersOfACardWhoseVendorBeginsWithBAreNewNumbers) {
  node.hardware.device(kA).vendor = std::uint16_t{0xbdbd};
  node.settings.resources[0].select = *Selector::parse("vendor=bdbd");
  node.see();
  node.record("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.hardware.regroup(kA, 13);
  node.start();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
}

// The number of a device's own node changes with the order of binding: it matters to who got it.
class NodesOfBackend : public LedgerCase,
                       public testing::WithParamInterface<std::pair<Backend, const char*>> {};

TEST_P(NodesOfBackend, ANewDeviceNumberMattersWhereItWasHandedOut) {
  node.settings.resources[0].allocation.backend = GetParam().first;
  node.start();
  hold("p1", "gpu", {kA});
  node.entries[0].allocated =
      node.answers.at(CallId(node.lastCall)).response->annotations.at(kAllocatedAnnotation);
  node.write();
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  node.hardware.device(kA).vfioDev = 77;
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), GetParam().second);
  node.entries[0].allocated.reset();  // what was answered is remembered here, too
  node.write();
  EXPECT_EQ(node.preStart("gpu", {kA}), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(All, NodesOfBackend,
                         testing::Values(std::pair{Backend::kLegacy, "done"},
                                         std::pair{Backend::kIommufd, "stale-nodes"},
                                         std::pair{Backend::kBoth, "stale-nodes"}));

// 19: a container restart after a reboot binds again.
TEST_F(LedgerCase, RebootOnAllocate) {
  node.settings.resources[0].allocation.onAllocate = true;
  node.see();
  node.record("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  const PciDevice bound = node.hardware.device(kA);
  unbind(node.hardware.device(kA), "nvidia");
  node.facts.bindable = {IommuGroupId(31)};
  node.start();
  EXPECT_EQ(node.preStart("gpu", {kA}), "waits");
  EXPECT_EQ(node.last.binds, std::vector{IommuGroupId(31)});
  const CallId call(node.lastCall);
  node.hardware.device(kA) = bound;
  node.facts.bindable.clear();
  node.see();
  node.run(node.ledger.bindEnded(IommuGroupId(31), {}, node.now));
  EXPECT_EQ(node.outcome(call), "done");
}

// I4: the kubelet grants again and starts before its checkpoint is read.
TEST_F(LedgerCase, AGrantAfterTheCheckpointIsJudgedByItsOwnNodes) {
  node.start();
  hold("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.write();
  node.hardware.regroup(kA, 13);
  node.see();
  ASSERT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
  node.pass(timing::kSettling);
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted") << "to p2";
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.hardware.regroup(kA, 14);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes") << "p2's are of group 13";
}

// 20, I1 and I4.
TEST_F(LedgerCase, UnplugReplugHeld) {
  node.start();
  hold("p1", "gpu", {kA});
  const PciDevice a = node.hardware.device(kA);
  node.hardware.remove(kA);
  node.see();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0-"));
  EXPECT_EQ(node.holding(kB), Holding::kAllocated);
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.hardware.add(kA, 77).vfioDev = a.vfioDev;
  node.see();
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0+"));
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes") << "group 77 now";
}

// 21, I1.
TEST_F(LedgerCase, UnbindByHandHeld) {
  node.start();
  hold("p1", "gpu", {kA});
  EXPECT_EQ(node.ledger.state().told.size(), 1U);
  EXPECT_TRUE(node.ledger.state().told.contains(IommuGroupId(31))) << "privd refuses by hand";
  const PciDevice bound = node.hardware.device(kA);
  unbind(node.hardware.device(kA), "nvidia");
  node.see();
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
  node.hardware.device(kA) = bound;
  node.see();
  EXPECT_EQ(node.allocate("other", {kB}), "group-allocated");
}

// 22, I5.
TEST_F(LedgerCase, RepresentativeSticks) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.hardware.remove(kA);
  node.start();
  ASSERT_EQ(node.frame("gpu"), "0000:01:00.1+ 0000:02:00.0+");
  node.answersQuestions = false;
  const CallId call = node.ask("gpu", {kB});
  unbind(node.hardware.add(kA, 31), "");
  node.see();
  node.run(node.ledger.groupRead(IommuGroupId(31), node.reread(IommuGroupId(31)), call, node.now));
  EXPECT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.1+ 0000:02:00.0+") << "the lower one is not shown";
}

// 23, T5.
TEST_F(LedgerCase, FlapDuringPick) {
  node.start();
  node.hardware.remove(kC);
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  node.move(50ms);
  node.hardware.add(kC, 32);
  node.see();
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

// T5: 60 s in the frame, and 10 s away from it; longer while an Allocate runs.
TEST_F(LedgerCase, WhatLostItsReasonStaysSixtySeconds) {
  node.start();
  node.hardware.remove(kC);
  node.see();
  node.pass(59s);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  node.answersQuestions = false;
  const CallId call = node.ask("gpu", {kA});
  node.pass(1500ms);
  ASSERT_EQ(node.outcome(call), "waits");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-") << "an Allocate runs";
  node.pass(1s);
  ASSERT_EQ(node.outcome(call), "timed-out");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+");
  node.hardware.add(kC, 32);
  node.pass(5s);
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+") << "no sooner than 10 s after it left";
  node.pass(6s);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
}

// 26: bridges and host drivers are no use.
TEST_F(LedgerCase, BridgeAndCompanion) {
  node.settings.resources[0].allocation.onAllocate = true;
  PciDevice& bridge = node.hardware.add("0000:00:01.0", 31);
  bridge.headerType = std::uint8_t{1};
  bridge.classCode = 0x060400;
  bridge.enableCount = 2;
  unbind(node.hardware.device(kA), "nvidia");
  const PciDevice companion = node.hardware.device(kB);
  unbind(node.hardware.device(kB), "snd_hda_intel");
  node.facts.bindable = {IommuGroupId(31)};
  node.start();
  const CallId call = node.ask("gpu", {kA});
  ASSERT_EQ(node.last.binds, std::vector{IommuGroupId(31)});
  node.hardware.device(kA).driver = node.hardware.device(kB).driver = "vfio-pci";
  node.hardware.device(kA).vfioDev = 1;
  node.hardware.device(kB) = companion;
  node.facts.bindable.clear();
  node.see();
  node.run(node.ledger.bindEnded(IommuGroupId(31), {}, node.now));
  EXPECT_EQ(node.outcome(call), "granted");
}

// 29, I4 and T37.
TEST_F(LedgerCase, ReloadMovesHeld) {
  node.start();
  hold("p1", "gpu", {kA});
  node.settings.resources[0].name = test::resource("new");
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  EXPECT_EQ(node.frame("new"), "") << "no id is in two frames";
  node.forget("p1");
  node.pass(59s);
  EXPECT_THAT(node.frame("gpu"), HasSubstr("0000:01:00.0"));
  node.pass(3min);
  EXPECT_EQ(node.frame("gpu"), "");
  EXPECT_EQ(node.frame("new"), "0000:01:00.0+ 0000:02:00.0+");
}

// 34: rows 23, 37, 47.
TEST_F(LedgerCase, NamedWhileReturning) {
  node.settings.resources[0].allocation.onAllocate = true;
  node.settings.resources[0].allocation.returnToOriginal = true;
  node.facts.boundForAllocation = {IommuGroupId(31)};
  node.start();
  hold("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  const auto held = node.entries;
  node.forget("p1");
  node.pass(75s);
  ASSERT_EQ(node.holding(kA), Holding::kReturning);
  EXPECT_EQ(node.allocate("gpu", {kA}), "returning");
  node.entries = held;
  node.write();
  EXPECT_EQ(node.preStart("gpu", {kA}), "returning");
  const PciDevice bound = node.hardware.device(kA);
  unbind(node.hardware.device(kA), "nvidia");
  node.facts.bindable = {IommuGroupId(31)};
  node.see();
  node.run(node.ledger.returnEnded(IommuGroupId(31), {}, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.preStart("gpu", {kA}), "waits") << "it is bound again";
  EXPECT_EQ(node.last.binds, std::vector{IommuGroupId(31)});
}

// `whole`: one id for the group, all its matching devices' nodes.
TEST_F(LedgerCase, WholeHandsOverTheGroup) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
  node.settings.resources[0].allocation.backend = Backend::kIommufd;
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  const CallId call = node.ask("gpu", {kA});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.answers.at(call).response->nodes.size(), 3U);
  EXPECT_EQ(node.answers.at(call).response->environment.begin()->second, kA);
}

/// Two functions of one group that are allocated as one unit, by their own nodes.
class WholeGroup : public LedgerCase {
protected:
  WholeGroup() {
    showAll();
    node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
    node.settings.resources[0].allocation.backend = Backend::kIommufd;
    node.start();
  }
  /// c has the node that b had.
  void renumber() {
    node.hardware.device(kB).vfioDev = 9;
    node.hardware.device(kC).vfioDev = 1;
    node.see();
  }
  void replace() {
    node.hardware.device(kB).device = std::uint16_t{0x1572};
    node.see();
  }
};

TEST_F(WholeGroup, I1_EachDeviceThatWasHandedOverIsCompared) {
  hold("p1", "gpu", {kA});
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  renumber();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
  replace();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_F(WholeGroup, I1_SoItIsWhereTheKubeletAloneKnowsWhatThatWas) {
  hold("p1", "gpu", {kA});
  node.entries.back().allocated =
      node.answers.at(CallId(node.lastCall)).response->annotations.at(kAllocatedAnnotation);
  node.startAnew();
  ASSERT_EQ(node.preStart("gpu", {kA}), "done");
  renumber();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
  replace();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_F(WholeGroup, I9_EachDeviceOfAClaimIsComparedWhereItIsPreparedAgain) {
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  replace();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "other-hardware");
}

// Its node is another device's soon; where the group's node was given, it leaves nothing behind.
TEST_F(WholeGroup, WhatWentIsMissedWhereItsNodeWasGiven) {
  hold("p1", "gpu", {kA});
  node.hardware.remove(kB);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "stale-nodes");
}

TEST_F(LedgerCase, WhatWentFromAWholeGroupIsNotMissedWhereTheGroupsNodeWasGiven) {
  showAll();
  node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
  node.start();
  hold("p1", "gpu", {kA});
  node.hardware.remove(kB);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
}

// Row 17: a version from before the refusal still names the pod, with its reference.
TEST_F(LedgerCase, I5_AnOldVersionThatIsReadAgainLiftsNoLingering) {
  node.start();
  const CallId call = node.ask("gpu", {kA});
  node.pass(100ms);
  node.record("p1", "gpu", {kA});
  node.entries.back().ref = node.answers.at(call).response->annotations.at("vfiogate.dev/ref");
  node.write();
  setUse(31, GroupUse::kOpen);
  node.reconciles = false;
  node.move(100ms);
  ASSERT_EQ(node.allocate("gpu", {kA}), "still-open");
  node.hardware.add("0000:05:00.0", 40);
  node.see();
  EXPECT_EQ(node.holding(kA), Holding::kLingering);
  EXPECT_FALSE(node.told("adopted"));
}

}  // namespace
}  // namespace vfiogate
