// Mediated devices: each is a unit in a group of its own, named by its UUID, of which nothing shows
// whether it is open.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFirst = "3f5e2c10-0001-4a5b-8c6d-000000000001";
constexpr const char* kSecond = "3f5e2c10-0001-4a5b-8c6d-000000000002";
constexpr const char* kParent = "0000:11:00.0";

class MediatedCase : public LedgerCase {
protected:
  MediatedCase() {
    node.hardware.add(kParent, 40).device = std::uint16_t{0x25b6};
    node.hardware.addMediated(kFirst, kParent, "nvidia-711", 60);
    node.hardware.addMediated(kSecond, kParent, "nvidia-711", 61);
    node.offer("mdev=nvidia-711", "vgpu");
  }

  const AllocationResponse& response(CallId call) { return *node.answers.at(call).response; }
};

TEST_F(MediatedCase, IsGrantedByItsUuidWithItsGroupsNode) {
  node.start();
  EXPECT_EQ(node.frame("vgpu"), std::string(kFirst) + "+ " + kSecond + "+");
  const CallId call = node.ask("vgpu", {kFirst});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(response(call).nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/60"));
  EXPECT_THAT(response(call).environment,
              ElementsAre(std::pair("MDEV_PCI_RESOURCE_VFIOGATE_DEV_VGPU", kFirst)));
  EXPECT_THAT(response(call).annotations.at(kAllocatedAnnotation),
              testing::StartsWith(std::string(kFirst) + " mdev type=nvidia-711 parent=" + kParent +
                                  " g60 v- b"));
  EXPECT_EQ(node.holding(kFirst), Holding::kAnswered);
  EXPECT_EQ(node.holding(kSecond), Holding::kFree) << "a group of its own";
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "granted") << "the same pod, nothing started yet";
}

TEST_F(MediatedCase, SeveralStandInOneVariable) {
  node.start();
  const CallId call = node.ask("vgpu", {kSecond, kFirst});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(response(call).environment.begin()->second, std::string(kFirst) + "," + kSecond);
}

// 28: what no reading tells is free 60 s after the kubelet let go of it, and the journal says so.
TEST_F(MediatedCase, I1_OneThatIsLetGoIsRefusedUntilTheMinuteIsOver) {
  node.start();
  hold("p1", "vgpu", {kFirst});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  node.pass(20s);
  node.forget("p1");
  const CallId call = node.ask("vgpu", {kFirst});
  EXPECT_EQ(node.outcome(call), "cannot-probe");
  EXPECT_THAT(node.text(call), HasSubstr(std::string(kFirst) + ", group 60: "));
  node.pass(50s);
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "cannot-probe");
  node.pass(75s);
  EXPECT_EQ(node.holding(kFirst), Holding::kFree);
  EXPECT_TRUE(node.told("unconfirmed"));
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "granted");
}

// 28 with a binder: the probe tells what no reading does.
TEST_F(MediatedCase, I1_OneThatIsLetGoOpenLingersUntilAProbeFindsItClosed) {
  node.start();
  node.probe = GroupReading::Probe::kOpen;
  hold("p1", "vgpu", {kFirst});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  node.pass(20s);
  node.forget("p1");
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "still-open") << "rows 7, 17";
  EXPECT_EQ(node.holding(kFirst), Holding::kLingering);
  node.pass(300s);
  EXPECT_EQ(node.holding(kFirst), Holding::kLingering) << "no minute frees what is seen open";
  EXPECT_EQ(node.frame("vgpu"), std::string(kFirst) + "- " + kSecond + "+");
  node.probe = GroupReading::Probe::kIdle;
  node.pass(6s);
  EXPECT_EQ(node.holding(kFirst), Holding::kFree) << "row 30";
  EXPECT_TRUE(node.told("closed"));
  EXPECT_FALSE(node.told("unconfirmed"));
}

TEST_F(MediatedCase, OneThatIsLetGoClosedIsFreeAtOnce) {
  node.start();
  node.probe = GroupReading::Probe::kIdle;
  hold("p1", "vgpu", {kFirst});
  hold("p2", "vgpu", {kSecond});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  ASSERT_EQ(node.preStart("vgpu", {kSecond}), "done");
  node.pass(20s);
  node.forget("p1");
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "granted") << "row 15: a good probe";
  node.record("p3", "vgpu", {kFirst});
  node.forget("p2");
  node.write();
  node.pass(10s);
  EXPECT_EQ(node.holding(kSecond), Holding::kFree) << "row 25";
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  EXPECT_FALSE(node.told("unconfirmed"));
}

// News of other hardware comes with a reading of every group, which shows nothing of these. Were it
// taken for an answer, none would be asked for, and row 27 would free what a VM has open.
TEST_F(MediatedCase, I1_ReadingsThatShowNothingPutNoProbeOff) {
  node.start();
  node.probe = GroupReading::Probe::kOpen;
  hold("p1", "vgpu", {kFirst});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  node.pass(20s);
  node.forget("p1");
  ASSERT_EQ(node.allocate("vgpu", {kFirst}), "still-open");
  for (int i = 0; i < 100; ++i) {
    node.pass(2s);
    node.see();
  }
  EXPECT_EQ(node.holding(kFirst), Holding::kLingering);
}

// Section 3: of what somebody has nobody but him may be kept out, nor of what is being taken.
TEST_F(MediatedCase, OneThatIsHeldOrBeingTakenIsNotProbed) {
  node.start();
  hold("p1", "vgpu", {kFirst});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  node.newKubelet();
  node.pass(120s);
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  EXPECT_EQ(node.probesAsked, 0);
  node.forget("p1");
  node.pass(120s);
  EXPECT_GT(node.probesAsked, 0) << "the kubelet let go of it";
}

TEST_F(MediatedCase, ARefusalSaysWhyItWasNotProbed) {
  node.start();
  node.probe = GroupReading::Probe::kCannot;
  hold("p1", "vgpu", {kFirst});
  ASSERT_EQ(node.preStart("vgpu", {kFirst}), "done");
  node.pass(20s);
  node.forget("p1");
  const CallId call = node.ask("vgpu", {kFirst});
  EXPECT_EQ(node.outcome(call), "cannot-probe");
  EXPECT_THAT(node.text(call), HasSubstr("was not probed, as no privd-binder is here"));
  node.pass(150s);
  EXPECT_EQ(node.holding(kFirst), Holding::kFree);
  EXPECT_TRUE(node.told("unconfirmed"));
}

TEST_F(MediatedCase, I4_OneThatGoesWhileHeldIsUnhealthyAndHeld) {
  node.start();
  hold("p1", "vgpu", {kFirst});
  node.hardware.removeMediated(kFirst);
  node.see();
  EXPECT_EQ(node.frame("vgpu"), std::string(kFirst) + "- " + kSecond + "+");
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  node.hardware.addMediated(kFirst, kParent, "nvidia-711", 70);
  node.see();
  EXPECT_EQ(node.frame("vgpu"), std::string(kFirst) + "+ " + kSecond + "+") << "in another group";
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  EXPECT_EQ(node.preStart("vgpu", {kFirst}), "stale-nodes");
}

TEST_F(MediatedCase, I9_AUuidIsNotADevice) {
  node.start();
  hold("p1", "vgpu", {kFirst});
  for (const auto& [type, parent] : {std::pair("nvidia-709", kParent), {"nvidia-711", kC}}) {
    node.hardware.removeMediated(kFirst);
    node.hardware.addMediated(kFirst, parent, type, 60);
    node.see();
    EXPECT_EQ(node.preStart("vgpu", {kFirst}), "other-hardware") << type << " of " << parent;
  }
}

TEST_F(MediatedCase, TheParentIsNotOfferedWhileTheyAreThere) {
  node.offer("device=25b6", "whole").allocation.onAllocate = true;
  node.start();
  EXPECT_EQ(node.frame("whole"), std::string(kParent) + "-");
  EXPECT_EQ(node.allocate("whole", {kParent}), "not-viable:mediated-parent");
}

TEST_F(MediatedCase, AnEntryWithoutMdevSelectsNone) {
  node.offer("vendor=10de", "all");
  node.start();
  EXPECT_EQ(node.frame("all"), std::string(kParent) + "-");
}

TEST_F(MediatedCase, AClaimHasItUntilTheMinuteIsOver) {
  const UnitId first = *UnitId::parse(kFirst);
  node.start();
  ASSERT_EQ(node.prepare("c1", "vgpu", {first}), "granted");
  EXPECT_EQ(node.allocate("vgpu", {kFirst}), "group-allocated");
  EXPECT_EQ(node.unprepare("c1"), "cannot-probe");
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated) << "the spec and the holder are kept";
  node.move(61s);
  EXPECT_EQ(node.unprepare("c1"), "done");
  EXPECT_EQ(node.holding(kFirst), Holding::kFree);
}

TEST_F(MediatedCase, AProbeTellsWhetherAClaimsIsGivenBack) {
  const UnitId first = *UnitId::parse(kFirst);
  node.start();
  ASSERT_EQ(node.prepare("c1", "vgpu", {first}), "granted");
  node.probe = GroupReading::Probe::kOpen;
  EXPECT_EQ(node.unprepare("c1"), "still-open") << "row 43";
  node.move(61s);
  EXPECT_EQ(node.unprepare("c1"), "still-open") << "whatever the time";
  EXPECT_TRUE(node.unlinked.empty());
  node.probe = GroupReading::Probe::kIdle;
  EXPECT_EQ(node.unprepare("c1"), "done") << "row 42";
  EXPECT_EQ(node.holding(kFirst), Holding::kFree);
}

// The binder may be away for a moment: the minute is not over because the first try is long ago.
TEST_F(MediatedCase, I1_AClaimsMinuteBeginsAnewWhereItWasFoundOpen) {
  const UnitId first = *UnitId::parse(kFirst);
  node.start();
  ASSERT_EQ(node.prepare("c1", "vgpu", {first}), "granted");
  node.probe = GroupReading::Probe::kOpen;
  EXPECT_EQ(node.unprepare("c1"), "still-open");
  node.move(61s);
  EXPECT_EQ(node.unprepare("c1"), "still-open");
  node.probe = GroupReading::Probe::kCannot;
  EXPECT_EQ(node.unprepare("c1"), "cannot-probe");
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  node.move(61s);
  EXPECT_EQ(node.unprepare("c1"), "done");
}

TEST_F(MediatedCase, AClaimThatIsGoneIsFreeWhenAProbeFindsItClosed) {
  const UnitId first = *UnitId::parse(kFirst);
  node.start();
  ASSERT_EQ(node.prepare("c1", "vgpu", {first}), "granted");
  node.probe = GroupReading::Probe::kOpen;
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(61s);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(120s);
  EXPECT_EQ(node.holding(kFirst), Holding::kLingering) << "row 46";
  EXPECT_TRUE(node.unlinked.empty());
  node.probe = GroupReading::Probe::kIdle;
  node.pass(6s);
  EXPECT_EQ(node.holding(kFirst), Holding::kFree);
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
}

TEST_F(MediatedCase, WhatTheKubeletRemembersIsAdopted) {
  node.record("p1", "vgpu", {kFirst});
  node.start();
  EXPECT_EQ(node.holding(kFirst), Holding::kAllocated);
  EXPECT_EQ(node.holding(kSecond), Holding::kFree);
}

}  // namespace
}  // namespace vfiogate::test
