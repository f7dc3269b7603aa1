// Static CDI specs in the ledger: frames, Allocate, PreStartContainer (ledger.md 7 row 18, and 9).

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/status/status.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;
using test::resource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Specs : public LedgerCase {
protected:
  Specs() { allocation().injectCdi = true; }

  AllocationSettings& allocation() { return node.settings.resources[0].allocation; }

  /// privd could not write the resource's spec.
  void fail() { node.specsFail = "disk full"; }

  /// The kubelet recorded that a was allocated by name; by now other hardware is at its address.
  void recordFormerHardware() {
    node.see();
    const std::string allocated = byName(fingerprintOf(node.facts, {at(kA)}));
    node.entries.push_back({"p1", "main", "vfiogate.dev/gpu", {kA}, allocated});
    node.hardware.device(kA).device = std::uint16_t{0x2685};
  }

  /// Another kubelet comes, which has written nothing yet, and then plugind sees the hardware.
  /// What the one before wrote.
  CheckpointVersion replaceKubelet() {
    const CheckpointVersion earlier = node.version();
    node.move(std::chrono::seconds(1));
    node.newKubelet();
    node.see();
    return earlier;
  }

  AllocationResponse granted(CallId call) {
    EXPECT_EQ(node.outcome(call), "granted");
    return node.answers.at(call).response.value_or(AllocationResponse{});
  }
};

TEST_F(Specs, NamesAreHandedOverInPlaceOfNodes) {
  node.start();
  const auto response = granted(node.ask("gpu", {kA}));
  EXPECT_THAT(response.nodes, IsEmpty());
  EXPECT_THAT(response.cdiDevices, ElementsAre("vfiogate.dev/gpu=0000:01:00.0"));
  EXPECT_EQ(response.environment.size(), 1U);
  EXPECT_THAT(response.annotations.at(kAllocatedAnnotation),
              HasSubstr("0000:01:00.0 10de:2684 class=030000 g31"));
}

TEST_F(Specs, KataHasNodesAndASpec) {
  allocation().injectCdi = false;
  allocation().kata = true;
  node.start();
  const auto response = granted(node.ask("gpu", {kA}));
  EXPECT_THAT(response.nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/31"));
  EXPECT_THAT(response.cdiDevices, IsEmpty());
  fail();
  node.see();
  EXPECT_EQ(node.allocate("gpu", {kC}), "cdi");
}

TEST_F(Specs, WhatIsNotWrittenIsNotOfferedAndOtherResourcesAre) {
  fail();
  node.start();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0-");
  EXPECT_EQ(node.frame("other"), "0000:01:00.1+");
  const CallId call = node.ask("gpu", {kC});
  ASSERT_EQ(node.outcome(call), "cdi");
  EXPECT_THAT(node.text(call), HasSubstr("disk full"));
}

TEST_F(Specs, ItIsOfferedOnceItIsWritten) {
  fail();
  node.start();
  node.run(node.ledger.specsSeen(
      test::writtenFor(sortIntoResources(node.settings, node.facts.snapshot), node.facts.snapshot),
      node.now));
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// I4.
TEST_F(Specs, AHeldDeviceStaysHealthyWithoutOne) {
  node.start();
  hold("p1", "gpu", {kA});
  fail();
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
}

// The reconcile in the call sees what the spec does not say yet.
TEST_F(Specs, AnAllocateIsRefusedWhereTheSpecNamesOtherNodes) {
  allocation().backend = Backend::kIommufd;
  node.start();
  node.hardware.device(kC).vfioDev = 77;
  const CallId call = node.ask("gpu", {kC});
  ASSERT_EQ(node.outcome(call), "cdi");
  EXPECT_THAT(node.text(call), HasSubstr("other nodes"));
  EXPECT_EQ(node.holding(kC), Holding::kFree);
  node.see();
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

// Section 9, all rows of the column `inject: cdi`.
TEST_F(Specs, APodStartsWhereTheSpecIsCurrentForTheHardwareThatItWasAllocated) {
  node.start();
  hold("p1", "gpu", {kA});
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.hardware.regroup(kA, 77);
  fail();
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "cdi") << "the file still names group 31, or is gone";
  node.specsFail.clear();
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.hardware.device(kA).device = std::uint16_t{0x2685};
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

// The kubelet keeps the answer: what was given decides, not what the configuration says by now.
TEST_F(Specs, APodThatWasGivenNodesIsNotStartedByNameAndTheOtherWayRound) {
  node.start();
  hold("p1", "gpu", {kA});
  allocation().injectCdi = false;
  node.hardware.regroup(kA, 77);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "cdi") << "it has a name, and no spec is wanted";
  allocation().kata = true;
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done") << "the name leads to what is there";
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
  allocation().injectCdi = true;
  node.hardware.regroup(kC, 78);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kC}), "stale-nodes");
}

// A new kubelet knows what it read from the file before it writes one of its own.
TEST_F(Specs, WhatTheKubeletBeforeWroteTellsWhatAPodWasGiven) {
  recordFormerHardware();
  const CheckpointVersion earlier = replaceKubelet();
  node.run(node.ledger.begin({earlier, node.list, {}}, node.now));
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware") << "plugind came after the new kubelet";
}

TEST_F(Specs, WhatTheKubeletBeforeWroteIsTakenLate) {
  recordFormerHardware();
  const CheckpointVersion earlier = replaceKubelet();
  node.run(node.ledger.begin({std::nullopt, node.list, {}}, node.now));
  ASSERT_EQ(node.preStart("gpu", {kA}), "cdi") << "nobody has said yet what it was given";
  node.run(node.ledger.versionRead(earlier, false, node.now));
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_F(Specs, ANewKubeletDoesNotMakeForgottenWhatAPodWasGiven) {
  recordFormerHardware();
  node.start();
  ASSERT_EQ(node.preStart("gpu", {kA}), "other-hardware");
  node.newKubelet();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_F(Specs, APodWhoseFingerprintNobodyHasStartsByName) {
  node.see();
  node.record("p1", "gpu", {kA});
  node.start();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  fail();
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "cdi");
}

TEST_F(Specs, APodWhoseDeviceMovedToAnotherAddressIsRefused) {
  node.start();
  hold("p1", "gpu", {kA});
  node.hardware.remove(kA);
  node.hardware.add("0000:09:00.0", 31);
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "not-viable:gone");
}

TEST_F(Specs, OneUnitOfAWholeGroupIsOneName) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  allocation().groupUnit = GroupUnit::kWhole;
  node.start();
  const auto response = granted(node.ask("gpu", {kA}));
  EXPECT_THAT(response.cdiDevices, ElementsAre("vfiogate.dev/gpu=0000:01:00.0"));
}

TEST_F(Specs, TheReasonIsInTheJournalOnceAndInTheStatus) {
  fail();
  node.start();
  std::size_t told = 0;
  for (const JournalEvent& event : node.journal) {
    told += event.event == "withheld" && event.reason == "cdi" ? 1U : 0U;
  }
  EXPECT_EQ(told, 1U);
  for (const ResourceStatus& status : statusOf(node.ledger.state(), {}).resources) {
    if (status.name != resource("gpu")) continue;
    for (const DeviceStatus& device : status.devices) EXPECT_EQ(device.reason, "cdi");
  }
}

}  // namespace
}  // namespace vfiogate
