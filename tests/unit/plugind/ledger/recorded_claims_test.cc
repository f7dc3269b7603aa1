// privd's record of allocations of claims: what was prepared is known again after a restart.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using test::at;
using test::kA;
using test::kB;
using test::kC;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kLine =
    "resource=vfiogate.dev/gpu ids=0000:01:00.0,0000:01:00.1 ref=7f3a since=2025-11-22T20:00:00Z "
    "claim=ns/c1";

NotedAllocation notedWith(const std::string& hardware) {
  return {.resource = test::resource("gpu"),
          .ids = {at(kA), at(kB)},
          .ref = HolderRef(0x7f3a),
          .since = std::chrono::sys_seconds(std::chrono::seconds(1763841600)),
          .namedBy = std::nullopt,
          .podName = std::nullopt,
          .podUid = std::nullopt,
          .claim = "ns/c1",
          .hardware = hardware};
}

TEST(NotedHardware, IsWhatTellsItApartWithoutNumbers) {
  const std::string printed =
      "0000:01:00.0 10de:2684 sub=10de:167c class=030000 rev=a1 sn=a/b%2C,c g31 v3 bx;"
      "0000:01:00.1 mdev type=nvidia-711 parent=0000:11:00.0 g60 v- bx;";
  const std::string kept =
      "0000:01:00.0 10de:2684 sub=10de:167c class=030000 rev=a1 sn=a/b%2C,c;"
      "0000:01:00.1 mdev type=nvidia-711 parent=0000:11:00.0;";
  const std::string line =
      kLine + std::string(
                  " hw=10de:2684,sub=10de:167c,class=030000,rev=a1,sn=a%2Fb%252C%2Cc"
                  "/mdev,type=nvidia-711,parent=0000:11:00.0");
  EXPECT_EQ(lineOf(notedWith(printed)), line);
  EXPECT_EQ(lineOf(notedWith(kept)), line);
  EXPECT_THAT(allocationsIn(line), ElementsAre(notedWith(kept)));
  EXPECT_EQ(compareFingerprints(kept, printed), Sameness::kOtherNumbers);
  EXPECT_EQ(firstOther(kept, printed), std::nullopt);
}

TEST(NotedHardware, OfAnyVisibleCharacterIsReadAsItWasWritten) {
  std::string serial;
  for (char c = '!'; c <= '~'; ++c) serial += c == ';' || c == '=' ? "" : std::string(1, c);
  const NotedAllocation noted =
      notedWith("0000:01:00.0 10de:2684 sn=" + serial + ";0000:01:00.1 10de:2685;");
  EXPECT_THAT(allocationsIn(lineOf(noted)), ElementsAre(noted));
}

TEST(NotedHardware, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(lineOf(notedWith("")), kLine);
  EXPECT_EQ(lineOf(notedWith("0000:01:00.0 gone;0000:01:00.1 gone;")), kLine);
  const NotedAllocation half = notedWith("0000:01:00.1 10de:2685;");
  EXPECT_EQ(lineOf(half), std::string(kLine) + " hw=/10de:2685");
  EXPECT_THAT(allocationsIn(lineOf(half)), ElementsAre(half));
}

// The line stands; of its hardware nothing is believed.
TEST(NotedHardware, I10_WhatMakesNoSenseIsNotBelieved) {
  for (const char* hardware :
       {"", "/", "10de:2684", "10de:2684/10de:2685/10de:2686", "10de:2684;/10de:2685",
        "10de:2684,/10de:2685", "rev=a1/10de:2685", "10de:2684,sn=%41/10de:2685",
        "10de:2684,sn=%/10de:2685", "10de:2684,sn=%2/10de:2685", "10de:2684,x/10de:2685",
        "10de:2684,sn=a=b/10de:2685", "10de:2684,sn=\t/10de:2685"}) {
    EXPECT_THAT(allocationsIn(kLine + std::string(" hw=") + hardware), ElementsAre(notedWith("")))
        << hardware;
  }
}

/// A claim with so many devices, each of which says as much as it can.
NotedAllocation largest(unsigned count) {
  NotedAllocation noted = notedWith("");
  noted.ids.clear();
  for (unsigned i = 0; i < count; ++i) {
    const UnitId id = at("0000:" + std::string(i < 32 ? "01" : "02") + ":" +
                         (i % 32 < 16 ? "0" : "1") + "0123456789abcdef"[i % 16] + ".0");
    noted.ids.insert(id);
    noted.hardware +=
        id.str() + " 10de:2684 sub=10de:167c class=030000 rev=a1 sn=" + std::string(64, 'S') + ";";
  }
  return noted;
}

TEST(NotedHardware, OfTheLargestClaimFits) {
  EXPECT_THAT(allocationsIn(lineOf(largest(32))), ElementsAre(largest(32)));
  EXPECT_LT(lineOf(largest(32)).size(), 6000U);
}

// A set may have more devices than a claim asks for.
TEST(NotedHardware, WhatDoesNotFitIsLeftOutTheSerialNumbersFirst) {
  const std::string line = lineOf(largest(64));
  EXPECT_LT(line.size(), 6000U);
  EXPECT_THAT(line, Not(HasSubstr("sn=")));
  const auto read = allocationsIn(line);
  ASSERT_THAT(read, SizeIs(1));
  for (const UnitId& id : largest(64).ids) {
    EXPECT_EQ(hardwareText(read[0].hardware, id), "10de:2684 sub=10de:167c class=030000 rev=a1");
  }
}

const IommuGroupId kGroup(31);

class RecordedClaims : public test::LedgerCase {
protected:
  /// A claim has `kA`, and its spec is on disk.
  void prepare() {
    node.start();
    ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
    node.specs = {{claim_, {{test::resource("gpu"), {at(kA)}}}, {}}};
  }
  /// The plugind after this one, with this as privd's record.
  void startWith(const std::string& recorded) {
    node.recorded = RecordedAllocations{.groups = {{{at(kA), at(kB)}, recorded}}, .complete = true};
    node.ledger = Ledger(LedgerSettings{});
    node.start(false);
    ASSERT_THAT(node.ledger.state().records, SizeIs(1));
  }
  std::string note(std::uint32_t group = 31) const {
    const GroupNotes& told = node.ledger.state().told;
    const auto found = told.find(IommuGroupId(group));
    return found == told.end() ? "" : found->second;
  }
  const HolderRecord& only() const { return node.ledger.state().records.at(0); }

  const ClaimName claim_{"c1", "ns", "claim-c1"};
};

TEST_F(RecordedClaims, TheNoteIsWrittenOnceForAPrepare) {
  node.facts.serials[at(kA)] = "MT 1,2";
  node.start();
  node.answersQuestions = node.writesSpecs = false;
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  const std::string taken = note();
  EXPECT_THAT(taken, HasSubstr(" hw=10de:2684,class=030000,sn=MT?1%2C2"));
  node.run(node.ledger.groupRead(kGroup, node.reread(kGroup), call, node.now));
  EXPECT_EQ(node.last.allocated, std::nullopt);
  node.run(node.ledger.specWritten(call, true, node.now));
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(node.last.allocated, std::nullopt);
  EXPECT_EQ(note(), taken);
}

// Nor does what is asked of a claim that is prepared change what is on record of it.
TEST_F(RecordedClaims, TheNoteStaysAsItIsWhileItsClaimIs) {
  prepare();
  for (const bool restarted : {false, true}) {
    if (restarted) node.startAnew();
    const std::string before = note();
    node.answersQuestions = node.writesSpecs = false;
    const auto answered = [&](CallId call) {
      EXPECT_EQ(note(), before);
      node.run(node.ledger.groupRead(kGroup, node.reread(kGroup), call, node.now));
      EXPECT_EQ(note(), before);
    };
    answered(node.askPrepare("c1", "gpu", {at(kA)}));
    node.run(node.ledger.specWritten(CallId(node.lastCall), true, node.now));
    EXPECT_EQ(note(), before);
    setUse(31, GroupUse::kOpen);
    EXPECT_EQ(node.unprepare("c1"), "waits");
    answered(CallId(node.lastCall));
    setUse(31, GroupUse::kIdle);
    node.answersQuestions = node.writesSpecs = true;
  }
}

TEST_F(RecordedClaims, ReferenceTimeAndHardwareOutliveARestart) {
  prepare();
  const HolderRecord before = only();
  node.now.draw = 0x1111;
  node.pass(std::chrono::minutes(1));
  node.startAnew();
  ASSERT_THAT(node.ledger.state().records, SizeIs(1));
  EXPECT_EQ(only().ref, before.ref);
  EXPECT_EQ(only().answeredAt, before.answeredAt);
  EXPECT_EQ(only().claim, claim_);
  EXPECT_EQ(only().fingerprint, "0000:01:00.0 10de:2684 class=030000;");
}

TEST_F(RecordedClaims, I9_AnotherCardOfTheModelIsNotPreparedAgainAfterARestart) {
  node.facts.serials[at(kA)] = "MT1";
  prepare();
  node.facts.serials.clear();
  node.startAnew();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted") << "nobody knows that it is another";
  node.facts.serials[at(kA)] = "MT2";
  node.startAnew();
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.text(call),
            "0000:01:00.0, group 31: other hardware than was prepared is at its address: was "
            "10de:2684 class=030000 sn=MT1, is 10de:2684 class=030000 sn=MT2, other-hardware");
}

// As an older plugind wrote it.
TEST_F(RecordedClaims, WithoutHardwareInItTheRecordIsNoReasonToRefuse) {
  prepare();
  startWith(note().substr(0, note().find(" hw=")));
  EXPECT_EQ(only().fingerprint, "");
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

TEST_F(RecordedClaims, TheRecordOfAnotherClaimOrOfOtherDevicesSaysNothing) {
  prepare();
  const std::string mine = note();
  for (const auto& [what, with] : {std::pair<std::string, std::string>{"claim-c1", "claim-c2"},
                                   {"claim=ns/", "claim=other/"},
                                   {"ids=0000:01:00.0", "ids=0000:02:00.0"},
                                   {"dev/gpu", "dev/other"}}) {
    std::string other = mine;
    other.replace(other.find(what), what.size(), with);
    startWith(other);
    EXPECT_EQ(only().fingerprint, "") << with;
  }
}

// A claim's spec is its record: without it nobody was told of these devices.
TEST_F(RecordedClaims, I1_AClaimWithoutItsSpecHoldsNothingAfterARestart) {
  prepare();
  node.specs.clear();
  node.startAnew();
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

TEST_F(RecordedClaims, APodsNoteSaysNothingOfItsHardware) {
  node.start();
  hold("p1", "gpu", {kC});
  EXPECT_THAT(note(32), Not(HasSubstr("hw=")));
}

}  // namespace
}  // namespace vfiogate
