// Two paths to one device: `serve`, and what claims ask for beyond having it.

#include <gmock/gmock.h>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using testing::HasSubstr;

class ServeCase : public test::LedgerCase {
protected:
  AllocationSettings& gpu() { return node.settings.resources[0].allocation; }
  AllocationSettings& other() { return node.settings.resources[1].allocation; }

  /// The refusal of a Prepare.
  std::string refusal(const std::string& uid, std::string_view name, const std::set<UnitId>& ids) {
    const CallId call = node.askPrepare(uid, name, ids);
    return node.outcome(call) == "granted" ? "granted" : node.text(call);
  }

  /// One claim for devices of both resources.
  PrepareRequest ofBoth(const std::string& uid) const {
    return {{uid, "ns", "claim-" + uid},
            {{test::resource("gpu"), {at(kA)}}, {test::resource("other"), {at(kB)}}},
            {}};
  }

  void putOnHost(const char* address) {
    PciDevice& device = node.hardware.device(address);
    device.driver = "nouveau";
    device.vfioDev.reset();
    device.cdevNode = false;
  }
};

// I5: what is for claims only never counts with the kubelet's other allocator.
TEST_F(ServeCase, I5_WhatIsForClaimsOnlyIsInNoFrame) {
  gpu().serve = Serve::kDra;
  node.start();
  EXPECT_EQ(node.frame("gpu"), "none");
  EXPECT_EQ(node.frame("other"), std::string(kB) + "+");
  EXPECT_EQ(node.allocate("gpu", {kA}), "not-shown");
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  EXPECT_EQ(node.frame("gpu"), "none");
  EXPECT_EQ(node.frame("other"), std::string(kB) + "-");
}

TEST_F(ServeCase, WhatWasMovedToClaimsIsRegisteredOnceMoreAndEnds) {
  gpu().serve = Serve::kDra;
  node.registered = {{test::resource("gpu").str(), {kA, kC}}};
  node.start(false);
  EXPECT_EQ(node.frame("gpu"), "");
  EXPECT_FALSE(wantsPreStart(node.ledger.state(), test::resource("gpu")));
  EXPECT_TRUE(wantsPreStart(node.ledger.state(), test::resource("other")));
  node.pass(10s);
  EXPECT_EQ(node.frame("gpu"), "none");
}

// F-D: a pod whose devices the kubelet has freed can start no container, through PreStart alone.
TEST_F(ServeCase, I1_WhatIsHeldThroughTheKubeletKeepsItsPreStart) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kA}), "granted");
  gpu().serve = Serve::kDra;
  node.see();
  EXPECT_TRUE(wantsPreStart(node.ledger.state(), test::resource("gpu")));
  node.pass(200s);
  ASSERT_EQ(node.holding(kA), Holding::kFree) << "nobody ever named it";
  EXPECT_FALSE(wantsPreStart(node.ledger.state(), test::resource("gpu")));
}

TEST_F(ServeCase, StatusSaysThatClaimsMayHaveIt) {
  gpu().serve = Serve::kDra;
  node.start();
  const auto reason = [this](const char* address) {
    return explain(node.settings, node.ledger.state(), at(address));
  };
  EXPECT_EQ(reason(kC).reason, "offered");
  EXPECT_THAT(reason(kC).lines, testing::Contains("claims may have it (DRA)"));
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kC)}), "granted");
  EXPECT_EQ(reason(kC).reason, "group-allocated");
  EXPECT_THAT(reason(kC).lines, testing::Contains(HasSubstr("to claim ns/claim-c1")));
}

TEST_F(ServeCase, ClaimsGetNothingThatIsForTheDevicePluginOnly) {
  other().serve = Serve::kPlugin;
  node.start();
  EXPECT_EQ(
      refusal("c1", "other", {at(kB)}),
      "0000:01:00.1, group 31: vfiogate.dev/other is allocated through the device plugin only, "
      "not-served");
  EXPECT_EQ(refusal("c1", "old", {at(kB)}),
            "0000:01:00.1, group 31: vfiogate.dev/old is not configured any more, not-served");
  EXPECT_EQ(refusal("c2", "other", {}), "the claim: none of its devices is ours, not-served");
  EXPECT_EQ(node.holding(kB), Holding::kFree);
  EXPECT_TRUE(node.ledger.state().calls.empty());
}

// I5, order: what one path allocated leaves the other with the same event.
TEST_F(ServeCase, I5_WhatAClaimGetsLeavesTheFramesBeforeTheAnswer) {
  node.start();
  node.answersQuestions = false;
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  ASSERT_EQ(node.outcome(call), "waits");
  ASSERT_TRUE(node.last.frames.contains(test::resource("gpu")));
  EXPECT_EQ(node.frame("gpu"), std::string(kA) + "- " + kC + "+");
  EXPECT_EQ(node.frame("other"), std::string(kB) + "-");
}

// I1: the loser is told through which path the winner came.
TEST_F(ServeCase, I1_TheLoserIsToldTheWinnersPath) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  EXPECT_THAT(node.text(node.ask("other", {kB})),
              testing::MatchesRegex("0000:01:00.1, group 31: allocated through DRA since "
                                    "[0-9-]+T[0-9:]+Z, group-allocated, ref=[0-9a-f]+"));
  EXPECT_THAT(refusal("c2", "gpu", {at(kA)}), HasSubstr("allocated through DRA since"));
  ASSERT_EQ(node.allocate("gpu", {kC}), "granted");
  EXPECT_THAT(
      refusal("c2", "gpu", {at(kC)}),
      testing::MatchesRegex("0000:02:00.0, group 32: allocated through the device plugin since "
                            "[0-9-]+T[0-9:]+Z, group-allocated, ref=[0-9a-f]+"));
}

TEST_F(ServeCase, I1_OfTwoAtATimeTheLaterIsToldTheEarliersPath) {
  node.start();
  node.answersQuestions = false;
  node.ask("gpu", {kA});
  EXPECT_THAT(refusal("c1", "other", {at(kB)}),
              HasSubstr("being allocated through the device plugin"));
  node.askPrepare("c2", "gpu", {at(kC)});
  EXPECT_THAT(node.text(node.ask("gpu", {kC})), HasSubstr("being allocated through DRA since"));
}

// ledger.md 10: several devices of one group in one claim are one holder.
TEST_F(ServeCase, I1_OneClaimIsOneHolderOfAGroupAlsoOverARestart) {
  node.start();
  const PrepareRequest request = ofBoth("c1");
  node.run(node.ledger.prepareAsked(CallId(500), request, node.now.instant, node.now));
  ASSERT_EQ(node.outcome(CallId(500)), "granted");
  ASSERT_EQ(node.ledger.state().records.size(), 1U);
  EXPECT_EQ(node.ledger.state().records[0].ids, (std::set<UnitId>{at(kA), at(kB)}));
  test::LedgerNode later;
  later.hardware = node.hardware;
  later.settings = node.settings;
  later.specs = {request};
  later.start();
  ASSERT_EQ(later.ledger.state().records.size(), 1U);
  EXPECT_EQ(later.ledger.state().records[0].ids, (std::set<UnitId>{at(kA), at(kB)}));
  EXPECT_EQ(later.ledger.state().records[0].claim, request.claim);
  EXPECT_EQ(later.holding(kA), Holding::kAllocated);
  EXPECT_EQ(later.unprepare("c1"), "done");
  EXPECT_EQ(later.holding(kB), Holding::kFree);
}

TEST_F(ServeCase, ParametersChooseTheBackend) {
  node.settings.resources[0].allocation.backend = Backend::kIommufd;
  node.hardware.group(32).groupNode = false;
  node.start();
  node.parameters[at(kC)].vfio = Backend::kLegacy;
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "not-viable:no-node");
  node.parameters.clear();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "granted");
  node.parameters[at(kC)].vfio = Backend::kLegacy;
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "not-viable:no-node") << "row 6 wants it so, too";
}

TEST_F(ServeCase, ParametersForbidABind) {
  gpu().onAllocate = true;
  putOnHost(kC);
  node.facts.bindable = {IommuGroupId(32)};
  node.start();
  node.parameters[at(kC)].bindNever = true;
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "not-viable:host-driver");
  EXPECT_TRUE(node.last.binds.empty());
  node.parameters.clear();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kC)}), "waits");
  EXPECT_EQ(node.last.binds, std::vector<IommuGroupId>{IommuGroupId(32)});
}

// Row 6 is for what stands: not while it is being given back, nor once it was.
TEST_F(ServeCase, I1_AClaimThatIsGivenBackIsNotPreparedAgain) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.writesSpecs = false;
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(61s);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(5s);
  ASSERT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "claim-gone");
  node.run(node.ledger.specUnlinked("c1", true, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  node.writesSpecs = true;
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

TEST_F(ServeCase, I1_AClaimThatIsGoneButOpenIsNotPreparedAgain) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  setUse(31, GroupUse::kOpen);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(61s);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(5s);
  ASSERT_EQ(node.holding(kA), Holding::kLingering);
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "still-open");
  EXPECT_TRUE(node.unlinked.empty()) << "the spec is kept until it is closed";
}

// Row 46: readings from before the claim was known to be gone prove nothing.
TEST_F(ServeCase, I1_OldReadingsDoNotFreeAClaimsGroup) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.hardware.group(31).use = GroupUse::kUnknown;
  EXPECT_EQ(node.unprepare("c1"), "cannot-tell");
  setUse(31, GroupUse::kIdle);
  node.move(2s);
  node.see();
  node.answersQuestions = false;
  node.hardware.group(31).use = GroupUse::kOpen;  // nobody has read that yet
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.move(61s);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  EXPECT_TRUE(node.unlinked.empty());
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
}

TEST_F(ServeCase, AnotherAllocationUnderTheSameUidIsRefused) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA), at(kC)}), "other-devices");
  EXPECT_EQ(node.holding(kC), Holding::kFree);
}

TEST_F(ServeCase, AnOperatorsExclusionIsForThoseWhoDoNotHaveItYet) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.facts.excluded = {IommuGroupId(31), IommuGroupId(32)};
  node.see();
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  EXPECT_EQ(node.prepare("c2", "gpu", {at(kC)}), "not-viable:operator-excluded");
}

// Section 13, I4: what a pod holds stays in the frames until it is released.
TEST_F(ServeCase, I4_AResourceThatGoesOverToClaimsIsServedUntilItIsDrained) {
  node.start();
  hold("p1", "gpu", {kA});
  gpu().serve = Serve::kDra;
  node.see();
  EXPECT_EQ(node.frame("gpu"), std::string(kA) + "+ " + kC + "-");
  node.pass(61s);
  EXPECT_EQ(node.frame("gpu"), std::string(kA) + "+");
  node.forget("p1");
  node.pass(200s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_EQ(node.frame("gpu"), "none") << "a name among a node's capacities is not asked of DRA";
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

TEST_F(ServeCase, APrepareWithoutPrivdSaysSoOfTheClaim) {
  node.start();
  node.run(node.ledger.privdWent(node.now));
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.outcome(call), "waits");
  node.pass(timing::kPrepareDeadline);
  EXPECT_EQ(node.text(call), "the claim: cannot be checked, privd is away, privd-away");
}

TEST_F(ServeCase, WhatReadingTheClaimTookIsAPartOfAPreparesDeadline) {
  node.start();
  node.run(node.ledger.privdWent(node.now));
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)}, 12s);
  node.pass(timing::kPrepareDeadline - 13s);
  EXPECT_EQ(node.outcome(call), "waits");
  node.pass(1s);
  EXPECT_EQ(node.outcome(call), "privd-away");
}

// Of a node whose record of allocations is new, so that adoption takes its time.
TEST_F(ServeCase, APrepareThatComesWithPlugindsStartIsAnsweredWithinTheKubeletsPatience) {
  node.start(false);
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.outcome(call), "waits");
  node.pass(40s);
  EXPECT_EQ(node.outcome(call), "granted");
}

TEST_F(ServeCase, APrepareThatAdoptionDoesNotReachSaysThatTheHoldersAreNotKnown) {
  node.reconciles = false;
  node.start(false);
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  node.pass(40s);
  EXPECT_EQ(node.outcome(call), "not-adopted");
  EXPECT_THAT(node.text(call), HasSubstr("not known yet since plugind's start who has what"));
}

}  // namespace
}  // namespace vfiogate
