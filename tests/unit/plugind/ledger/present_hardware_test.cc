// I9: an address is not a device. What is there is compared with what was offered or allocated, by
// a reread made for the call, however many events were lost.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
#include "tests/unit/plugind/ledger/on_allocate_case.h"

namespace vfiogate {
namespace {

using test::at;
using test::Ending;
using test::kA;
using test::kB;
using test::kC;
using test::kSharedGroup;
using test::LedgerCase;
using testing::HasSubstr;

struct Swap {
  std::string name;
  void (*make)(PciDevice& device);
};

void toNic(PciDevice& device) {
  device.vendor = std::uint16_t{0x8086};
  device.device = std::uint16_t{0x1572};
  device.classCode = 0x020000;
}

/// Of `kA`, without a kernel event: the ledger's own view stays.
class Swapped : public LedgerCase, public testing::WithParamInterface<Swap> {
protected:
  Swapped() {
    PciDevice& a = node.hardware.device(kA);
    a.subvendor = std::uint16_t{0x10de};
    a.subdevice = std::uint16_t{0x167c};
    a.revision = std::uint8_t{0xa1};
    node.start();
  }
  void swap() { GetParam().make(node.hardware.device(kA)); }
};

TEST_P(Swapped, I9_IsNotGranted) {
  swap();
  EXPECT_EQ(node.allocate("gpu", {kA}), "other-hardware");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.holding(kB), Holding::kFree);
}

TEST_P(Swapped, I9_IsNotStarted) {
  hold("p1", "gpu", {kA});
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  swap();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_P(Swapped, I9_IsNotStartedForWhomThisProcessDidNotAnswer) {
  node.entries.clear();
  node.record("p1", "gpu", {kA});
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.write();
  swap();
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_P(Swapped, I9_IsNotPrepared) {
  swap();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "other-hardware");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_P(Swapped, I9_IsNotPreparedAgain) {
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  swap();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "other-hardware");
  EXPECT_EQ(node.holding(kA), Holding::kAllocated) << "a refusal ends no claim";
}

// Its spec is on disk, and privd's record of allocations knows what was there.
TEST_P(Swapped, I9_IsNotPreparedAgainAfterARestart) {
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.specs = {{{"c1", "ns", "claim-c1"}, {{test::resource("gpu"), {at(kA)}}}, {}}};
  node.startAnew();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted") << "it is the same card";
  for (const int restart : {1, 2}) {
    if (restart == 1) swap();  // while no plugind runs
    node.startAnew();
    EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "other-hardware");
    EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  }
  EXPECT_EQ(node.unprepare("c1"), "done");
}

INSTANTIATE_TEST_SUITE_P(
    All, Swapped,
    testing::Values(
        Swap{"Device", [](PciDevice& device) { device.device = std::uint16_t{0x2704}; }},
        Swap{"Subsystem", [](PciDevice& device) { device.subdevice = std::uint16_t{0x1111}; }},
        Swap{"Class", [](PciDevice& device) { device.classCode = 0x030200; }},
        Swap{"Revision", [](PciDevice& device) { device.revision = std::uint8_t{0xa2}; }},
        Swap{"Nic", toNic}),
    [](const auto& swap) { return swap.param.name; });

TEST_F(LedgerCase, I9_ARefusalSaysWhatWasOfferedAndWhatIsThere) {
  node.start();
  toNic(node.hardware.device(kA));
  const CallId call = node.ask("gpu", {kA});
  EXPECT_EQ(node.text(call),
            "0000:01:00.0, group 31: other hardware than was offered is at its address: was "
            "10de:2684 class=030000, is 8086:1572 class=020000, other-hardware");
}

// In the place of a GPU that everybody still believes in.
TEST_F(LedgerCase, I9_ACardThatIsExcludedIsNeitherGrantedNorStartedNorPrepared) {
  node.settings.exclude.push_back(*Selector::parse("vendor=8086"));
  node.start();
  hold("p1", "gpu", {kC});
  toNic(node.hardware.device(kA));
  toNic(node.hardware.device(kC));
  EXPECT_EQ(node.allocate("gpu", {kA}), "other-hardware");
  EXPECT_EQ(node.preStart("gpu", {kC}), "other-hardware");
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "other-hardware");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(LedgerCase, I9_OfAWholeGroupEachDeviceIsCompared) {
  showAll();
  node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
  node.start();
  toNic(node.hardware.device(kB));
  const CallId call = node.ask("gpu", {kA});
  EXPECT_THAT(node.text(call), HasSubstr("0000:01:00.1, group 31: other hardware"));
}

TEST_F(LedgerCase, APreStartWaitsForPrivdThatGoesWhileItRereads) {
  node.start();
  hold("p1", "gpu", {kA});
  node.answersQuestions = false;
  ASSERT_EQ(node.preStart("gpu", {kA}), "waits");
  const CallId call(node.lastCall);
  node.run(
      node.ledger.groupRead(kSharedGroup, {GroupReading::Answer::kPrivdAway, {}}, call, node.now));
  EXPECT_EQ(node.outcome(call), "waits");
  node.run(node.ledger.privdWent(node.now));
  node.answersQuestions = true;
  node.see();
  EXPECT_EQ(node.outcome(call), "done");
}

using test::OnAllocate;

TEST_F(OnAllocate, I9_OtherHardwareIsNotBound) {
  node.start();
  toNic(node.hardware.device(kA));
  EXPECT_EQ(node.allocate("gpu", {kA}), "other-hardware");
  EXPECT_TRUE(node.last.binds.empty());
  EXPECT_EQ(node.allocate("other", {kB}), "waits") << "that one is what it was";
  EXPECT_EQ(node.last.binds, std::vector{kSharedGroup});
}

// News of the hardware has a waiting PreStart judged anew; the bind still ends it.
TEST_F(OnAllocate, AStartThatWaitsForABindHearsOfItsEndWhateverComesBetween) {
  for (const bool fails : {true, false}) {
    test::LedgerNode one;
    one.hardware = node.hardware;
    one.settings = node.settings;
    one.facts.bindable = node.facts.bindable;
    one.record("p1", "gpu", {kA});
    one.start();
    ASSERT_EQ(one.preStart("gpu", {kA}), "waits");
    ASSERT_EQ(one.last.binds, std::vector{kSharedGroup});
    const CallId call(one.lastCall);
    one.answersQuestions = false;
    one.see();
    if (fails) {
      one.run(one.ledger.bindEnded(kSharedGroup, {Ending::kFailed, "a driver"}, one.now));
      EXPECT_EQ(one.outcome(call), "bind-failed:failed");
      continue;
    }
    one.hardware.device(kA) = bound_[0];
    one.hardware.device(kB) = bound_[1];
    one.facts.bindable.clear();
    one.answersQuestions = true;
    one.see();
    one.run(one.ledger.bindEnded(kSharedGroup, {}, one.now));
    EXPECT_NE(one.outcome(call), "waits");
  }
}

TEST_F(OnAllocate, I9_OtherHardwareIsNotBoundForAStart) {
  node.record("p1", "gpu", {kA});
  node.see();
  node.entries[0].allocated = fingerprintOf(node.facts, {at(kA)});
  node.start();
  toNic(node.hardware.device(kA));
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
  EXPECT_TRUE(node.last.binds.empty());
}

// Section 5.7: a re-offer says that the pod is the same, or gone, and nothing of the card.
class Replaced : public LedgerCase {
protected:
  Replaced() { node.settings.exclude.push_back(*Selector::parse("vendor=8086")); }

  void reload() {
    node.run(node.ledger.reconfigured({}, sortIntoResources(node.settings, node.facts.snapshot),
                                      node.facts.specs, node.now));
  }
  /// The kubelet keeps what the answer said.
  void remember() { node.entries.back().allocated = fingerprintOf(node.facts, {at(kC)}); }
};

TEST_F(Replaced, I9_AnExcludedCardInTheHeldOnesPlaceIsNotGranted) {
  node.start();
  hold("p1", "gpu", {kC});
  toNic(node.hardware.device(kC));
  node.see();
  const CallId call = node.ask("gpu", {kC});
  ASSERT_EQ(node.outcome(call), "other-hardware");
  EXPECT_EQ(node.text(call),
            "0000:02:00.0, group 32: other hardware than was allocated is at its address: was "
            "10de:2684 class=030000, is 8086:1572 class=020000, other-hardware");
  EXPECT_EQ(node.holding(kC), Holding::kAllocated) << "a refusal ends nobody";
}

TEST_F(Replaced, I9_NorIsItAfterARestart) {
  node.start();
  hold("p1", "gpu", {kC});
  remember();
  toNic(node.hardware.device(kC));
  node.startAnew();
  EXPECT_EQ(node.allocate("gpu", {kC}), "other-hardware");
}

TEST_F(Replaced, I9_NorIsOneOfWhichNobodyKnowsWhatWasAllocated) {
  node.record("p1", "gpu", {kC});
  toNic(node.hardware.device(kC));
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kC}), "not-shown");
}

TEST_F(Replaced, WhatWasAllocatedIsGrantedAgainThoughItsResourceHasItNoMore) {
  node.start();
  hold("p1", "gpu", {kC});
  remember();
  node.write();
  node.settings.resources[0].select = *Selector::parse("device=2700");
  reload();
  ASSERT_EQ(node.allocate("gpu", {kC}), "granted");
  node.pass(std::chrono::milliseconds(100));
  node.write();
  node.startAnew();
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

TEST_F(Replaced, AnotherCardThatTheResourceHasIsGranted) {
  node.settings.resources[0].select = *Selector::parse("vendor=10de");
  node.start();
  hold("p1", "gpu", {kC});
  node.hardware.device(kC).device = std::uint16_t{0x2704};
  node.see();
  EXPECT_EQ(node.allocate("gpu", {kC}), "granted");
}

TEST_F(Replaced, WhatIsExcludedSinceIsNotGrantedAgain) {
  node.start();
  hold("p1", "gpu", {kC});
  node.settings.exclude.push_back(*Selector::parse("address=" + std::string(kC)));
  reload();
  EXPECT_EQ(node.allocate("gpu", {kC}), "not-viable:excluded");
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0+") << "its pod counts";
}

TEST_F(Replaced, I1_WhatMayBeExcludedIsNotGrantedAgain) {
  node.start();
  hold("p1", "gpu", {kC});
  node.settings.exclude.push_back(*Selector::parse("vendor=10de,serial=MT1"));
  reload();
  EXPECT_EQ(node.allocate("gpu", {kC}), "not-viable:serial-unknown");
}

// What a claim stands for is read when it comes; what is there is judged when it is decided.
TEST_F(Replaced, I9_APrepareThatWaitedGetsNoExcludedCard) {
  node.start();
  node.run(node.ledger.privdWent(node.now));
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  ASSERT_EQ(node.outcome(call), "waits");
  toNic(node.hardware.device(kA));
  node.see();
  ASSERT_EQ(node.outcome(call), "not-served");
  EXPECT_EQ(node.text(call),
            "0000:01:00.0, group 31: is not in vfiogate.dev/gpu any more: matches exclude[0], "
            "not-served");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(Replaced, I9_NorOneThatWaitedForAdoption) {
  node.registered["vfiogate.dev/gpu"] = {kA};
  node.start(false);
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  ASSERT_EQ(node.outcome(call), "waits");
  node.settings.resources[0].select = *Selector::parse("address=" + std::string(kC));
  reload();
  node.pass(timing::kAdoptionWait + std::chrono::seconds(1));
  EXPECT_EQ(node.outcome(call), "not-served");
}

TEST(Fingerprint, ComparesWhatBothHave) {
  const std::string old = "0000:65:00.0 10de:2684 g31 v3 bx;";
  const std::string present = "0000:65:00.0 10de:2684 sub=10de:167c class=030000 rev=a1 g31 v3 by;";
  const std::string other = "0000:65:00.0 10de:2684 sub=10de:167c class=030000 rev=a2 g31 v3 by;";
  EXPECT_EQ(compareFingerprints(old, present), Sameness::kSame);
  EXPECT_EQ(compareFingerprints(present, old), Sameness::kSame);
  EXPECT_EQ(compareFingerprints(present, other), Sameness::kOtherHardware);
  EXPECT_EQ(firstOther(present, other), at("0000:65:00.0"));
  EXPECT_EQ(firstOther(present, "0000:65:00.0 gone;"), std::nullopt);
  EXPECT_EQ(hardwareText(present, at("0000:65:00.0")),
            "10de:2684 sub=10de:167c class=030000 rev=a1");
  EXPECT_EQ(hardwareText(present, at("0000:66:00.0")), "gone");
}

class BySerialNumber : public LedgerCase {};

TEST_F(BySerialNumber, I9_AnotherCardOfTheModelIsNotStarted) {
  node.facts.serials[at(kA)] = "MT 1;2";
  node.start();
  hold("p1", "gpu", {kA});
  EXPECT_EQ(node.preStart("gpu", {kA}), "done");
  node.facts.serials.clear();
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "done") << "nobody knows that it is another";
  node.facts.serials[at(kA)] = "MT 1;3";
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kA}), "other-hardware");
}

TEST_F(BySerialNumber, I1_ACardThatMayBeExcludedIsNotGranted) {
  node.settings.exclude.push_back(*Selector::parse("vendor=10de,serial=MT1"));
  node.start();
  EXPECT_NE(node.allocate("gpu", {kA}), "granted");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

}  // namespace
}  // namespace vfiogate
