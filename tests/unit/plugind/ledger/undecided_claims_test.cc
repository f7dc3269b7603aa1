// What becomes of a claim between its request and the answer, and of its spec.

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Intel's devices are excluded.
class UndecidedClaims : public test::LedgerCase {
protected:
  UndecidedClaims() { node.settings.exclude.push_back(*Selector::parse("vendor=8086")); }

  void answer(std::optional<CallId> call) {
    node.run(node.ledger.groupRead(kGroup, node.reread(kGroup), call, node.now));
  }
  /// For the last call, as privd told of it.
  void written(bool good = true) {
    node.run(node.ledger.specWritten(CallId(node.lastCall), good, node.now));
  }
  void unlinked(bool good = true) { node.run(node.ledger.specUnlinked("c1", good, node.now)); }
  /// The API server says that the claim is gone.
  void checkGone() { node.run(node.ledger.claimChecked("c1", false, node.now)); }
  /// Twice, as far apart as it takes.
  void loseClaim() {
    checkGone();
    node.pass(61s);
    checkGone();
  }
  /// In a's place, as privd tells.
  void makeNic() {
    PciDevice& device = node.hardware.device(kA);
    device.vendor = std::uint16_t{0x8086};
    device.device = std::uint16_t{0x1572};
    device.classCode = 0x020000;
    node.see();
  }
  void reload() {
    node.run(node.ledger.reconfigured({}, sortIntoResources(node.settings, node.facts.snapshot),
                                      node.facts.specs, node.now));
  }
  /// A Prepare of a that waits for its spec, which is written as far as the disk goes.
  CallId askWithSpec() {
    node.start();
    node.writesSpecs = false;
    return node.askPrepare("c1", "gpu", {at(kA)});
  }

  static constexpr IommuGroupId kGroup{31};
};

// Row 18: named for somebody else.
TEST_F(UndecidedClaims, I1_WhoIsNamedWhileASpecIsWrittenHasTheGroup) {
  const CallId call = askWithSpec();
  node.record("p1", "other", {kB});
  node.write();
  written();
  EXPECT_EQ(node.outcome(call), "group-allocated");
  EXPECT_THAT(node.ledger.state().records, SizeIs(1));
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
}

// An earlier Prepare's spec is unlinked again before the later one's is written.
TEST_F(UndecidedClaims, I1_TheSpecOfACallThatWasCancelledIsNotALaterOnes) {
  for (const bool good : {true, false}) {
    test::LedgerNode one;
    one.hardware = node.hardware;
    one.settings = node.settings;
    one.start();
    one.writesSpecs = false;
    const CallId first = one.askPrepare("c1", "gpu", {at(kA)});
    const CallId second = one.askPrepare("c1", "gpu", {at(kA)});
    one.run(one.ledger.callCancelled(first, one.now));
    one.run(one.ledger.specWritten(first, good, one.now));
    one.run(one.ledger.specUnlinked("c1", true, one.now));
    ASSERT_EQ(one.outcome(second), "waits") << good;
    one.run(one.ledger.specWritten(second, true, one.now));
    EXPECT_EQ(one.outcome(second), "granted");
  }
}

TEST_F(UndecidedClaims, I9_WhatIsExcludedWhileItsSpecIsWrittenIsNotGranted) {
  const CallId call = askWithSpec();
  node.settings.exclude.push_back(*Selector::parse("address=" + std::string(kA)));
  reload();
  written();
  EXPECT_NE(node.outcome(call), "granted");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
}

TEST_F(UndecidedClaims, I9_NorIsWhatItsResourceHasNoMoreByThen) {
  const CallId call = askWithSpec();
  node.hardware.device(kA).device = std::uint16_t{0x2704};
  node.see();
  written();
  EXPECT_EQ(node.outcome(call), "not-served");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// It would be a holder's after a restart.
TEST_F(UndecidedClaims, I9_NorIsAnotherCardThatItsResourceHasToo) {
  node.settings.resources[0].select = *Selector::parse("vendor=10de");
  const CallId call = askWithSpec();
  node.hardware.device(kA).device = std::uint16_t{0x2704};
  node.see();
  written();
  EXPECT_EQ(node.outcome(call), "other-hardware");
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
}

TEST_F(UndecidedClaims, NorIsWhatHasLeftByThen) {
  const CallId call = askWithSpec();
  node.hardware.remove(kA);
  node.hardware.remove(kB);
  node.see();
  written();
  EXPECT_NE(node.outcome(call), "granted");
}

TEST_F(UndecidedClaims, I1_NorIsAGroupThatAHeldOneJoinedByThen) {
  node.start();
  hold("p1", "gpu", {kC});
  node.writesSpecs = false;
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  node.hardware.regroup(kC, 31);
  node.see();
  written();
  EXPECT_NE(node.outcome(call), "granted");
}

TEST_F(UndecidedClaims, I9_TheSpecOfARefusedPrepareIsUnlinked) {
  const CallId call = askWithSpec();
  node.run(node.ledger.privdWent(node.now));
  written();
  makeNic();
  ASSERT_EQ(node.outcome(call), "not-served");
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  if (node.unlinked.empty()) {
    node.specs = {{{"c1", "ns", "claim-c1"}, {{test::resource("gpu"), {at(kA)}}}, {}}};
  }
  node.writesSpecs = true;
  node.startAnew();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "not-served");
}

TEST_F(UndecidedClaims, ASpecThatCouldNotBeUnlinkedIsUnlinkedWhenPrivdIsBack) {
  for (const bool hungUp : {false, true}) {
    test::LedgerNode one;
    one.hardware = node.hardware;
    one.settings = node.settings;
    one.start();
    one.writesSpecs = false;
    const CallId call = one.askPrepare("c1", "gpu", {at(kA)});
    one.run(one.ledger.privdWent(one.now));
    if (hungUp) {
      one.run(one.ledger.callCancelled(call, one.now));
    } else {
      one.pass(41s);
      ASSERT_EQ(one.outcome(call), "privd-away");
    }
    ASSERT_THAT(one.unlinked, SizeIs(1));
    one.run(one.ledger.specUnlinked("c1", false, one.now));
    one.see();
    EXPECT_THAT(one.unlinked, SizeIs(2));
    one.run(one.ledger.specUnlinked("c1", true, one.now));
    one.run(one.ledger.privdWent(one.now));
    one.see();
    EXPECT_THAT(one.unlinked, SizeIs(2)) << "it is gone";
  }
}

TEST_F(UndecidedClaims, ASpecThatCouldNotBeUnlinkedIsKeptForWhoeverHasItByThen) {
  const CallId call = askWithSpec();
  node.run(node.ledger.callCancelled(call, node.now));
  unlinked(false);
  node.writesSpecs = true;
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.run(node.ledger.privdWent(node.now));
  node.see();
  EXPECT_THAT(node.unlinked, SizeIs(1));
}

// Row 11, of a request that is being decided.
TEST_F(UndecidedClaims, I9_WhatIsExcludedWhileItIsTakenIsNotGranted) {
  node.start();
  node.answersQuestions = false;
  const CallId pod = node.ask("gpu", {kC});
  const CallId claim = node.askPrepare("c1", "gpu", {at(kA)});
  for (const char* address : {kA, kC}) {
    node.settings.exclude.push_back(*Selector::parse("address=" + std::string(address)));
  }
  reload();
  answer(claim);
  const IommuGroupId other(32);
  node.run(node.ledger.groupRead(other, node.reread(other), pod, node.now));
  EXPECT_EQ(node.outcome(pod), "not-viable:excluded");
  EXPECT_EQ(node.outcome(claim), "not-viable:excluded");
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.holding(kC), Holding::kFree);
}

// Section 13: nothing of that is against the device itself.
TEST_F(UndecidedClaims, APodGetsWhatAReloadMovesWhileItIsTaken) {
  node.start();
  node.answersQuestions = false;
  const CallId call = node.ask("gpu", {kA});
  node.settings.resources[0].select = *Selector::parse("device=2700");
  reload();
  answer(call);
  EXPECT_EQ(node.outcome(call), "granted");
}

// Row 46: the spec stands as long as one of its groups is open.
TEST_F(UndecidedClaims, I1_NoGroupOfAClaimIsFreeBeforeItsSpecIsUnlinked) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA), at(kC)}), "granted");
  setUse(32, GroupUse::kOpen);  // its VM lives on
  loseClaim();
  node.pass(5s);
  ASSERT_THAT(node.unlinked, IsEmpty());
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.holding(kC), Holding::kLingering);
  node.writesSpecs = false;
  setUse(32, GroupUse::kIdle);
  node.pass(10s);
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_EQ(node.holding(kC), Holding::kLingering);
  unlinked();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.holding(kC), Holding::kFree);
}

// Row 27, of row 46: what shows no use, and cannot be probed.
TEST_F(UndecidedClaims, AGoneClaimIsNotKeptByAGroupThatShowsNoUse) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA), at(kC)}), "granted");
  setUse(32, GroupUse::kBlind);
  loseClaim();
  node.pass(55s);
  EXPECT_THAT(node.unlinked, IsEmpty());
  node.pass(10s);
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.holding(kC), Holding::kFree);
}

TEST_F(UndecidedClaims, I10_AFailedUnlinkIsTriedAgainAfterFiveSeconds) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.writesSpecs = false;
  loseClaim();
  node.pass(2s);
  ASSERT_THAT(node.unlinked, SizeIs(1));
  for (std::size_t tried = 1; tried < 4; ++tried) {
    unlinked(false);
    EXPECT_THAT(node.unlinked, SizeIs(tried));
    node.pass(6s);
    EXPECT_THAT(node.unlinked, SizeIs(tried + 1));
    EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  }
  unlinked();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(UndecidedClaims, ALeftSpecIsUnlinkedAfterFiveSeconds) {
  const CallId call = askWithSpec();
  node.run(node.ledger.callCancelled(call, node.now));
  ASSERT_THAT(node.unlinked, SizeIs(1));
  unlinked(false);
  node.pass(4s);
  EXPECT_THAT(node.unlinked, SizeIs(1));
  node.pass(2s);
  EXPECT_THAT(node.unlinked, SizeIs(2));
  unlinked();
  node.pass(60s);
  EXPECT_THAT(node.unlinked, SizeIs(2));
}

// A server that was restored from an older copy had it not, and has it again.
TEST_F(UndecidedClaims, AClaimThatIsThereAgainIsHeldAsBefore) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  setUse(31, GroupUse::kOpen);
  loseClaim();
  ASSERT_EQ(node.holding(kA), Holding::kLingering);
  node.run(node.ledger.claimChecked("c1", true, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  setUse(31, GroupUse::kIdle);
  node.pass(120s);
  EXPECT_THAT(node.unlinked, IsEmpty());
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

TEST_F(UndecidedClaims, SoIsOneWhoseSpecCouldNotBeUnlinked) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.writesSpecs = false;
  loseClaim();
  node.pass(2s);
  ASSERT_THAT(node.unlinked, SizeIs(1));
  node.run(node.ledger.claimChecked("c1", true, node.now));
  unlinked(false);
  node.pass(60s);
  EXPECT_THAT(node.unlinked, SizeIs(1));
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
}

// A group that waits for the others is asked about seldom: each question opens it.
TEST_F(UndecidedClaims, AnIdleGroupOfAClaimThatIsOpenElsewhereIsAskedAboutEveryFiveSeconds) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA), at(kC)}), "granted");
  setUse(32, GroupUse::kOpen);
  loseClaim();
  node.pass(10s);
  const int before = node.probesAsked;
  node.pass(60s);
  EXPECT_LE(node.probesAsked - before, 26);
  EXPECT_GE(node.probesAsked - before, 22);
}

// A Prepare of what is prepared, over an outage in which row 46 ends the claim.
TEST_F(UndecidedClaims, I1_WhatWasPreparedBeforeAnOutageIsPreparedAnewOnceItEnded) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  checkGone();
  node.pass(61s);
  node.writesSpecs = false;
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  ASSERT_EQ(node.outcome(call), "waits");
  node.run(node.ledger.privdWent(node.now));
  checkGone();
  node.answersQuestions = false;
  node.see();
  node.move(2s);
  answer(std::nullopt);
  ASSERT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  unlinked();
  ASSERT_EQ(node.holding(kA), Holding::kFree);
  answer(call);
  answer(call);
  written();
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_THAT(node.ledger.state().told.at(kGroup), HasSubstr("claim=ns/claim-c1"));
}

TEST_F(UndecidedClaims, WhatIsBeingGivenBackIsNotBeingAllocatedThroughThePlugin) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.answersQuestions = false;
  ASSERT_EQ(node.unprepare("c1"), "waits");
  const CallId call = node.askPrepare("c2", "gpu", {at(kA)});
  ASSERT_EQ(node.outcome(call), "being-allocated");
  EXPECT_THAT(node.text(call), Not(HasSubstr("being allocated")));
  EXPECT_THAT(node.text(call), HasSubstr("being given back through DRA since"));
  ASSERT_EQ(node.preStart("gpu", {kA}), "being-allocated");
  EXPECT_THAT(node.text(CallId(node.lastCall)), HasSubstr("being given back through DRA since"));
}

}  // namespace
}  // namespace vfiogate
