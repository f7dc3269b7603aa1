// The named tests of ledger.md 17 about claims of DRA.

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;

// 13, I1.
TEST_F(LedgerCase, ClaimMeetsLingering) {
  node.start();
  hold("p1", "gpu", {kA});
  setUse(31, GroupUse::kOpen);
  node.forget("p1");
  node.pass(75s);
  ASSERT_EQ(node.holding(kA), Holding::kLingering);
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "still-open");
  setUse(31, GroupUse::kIdle);
  node.pass(10s);
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

// 14, I1.
TEST_F(LedgerCase, PrepareMeetsAllocate) {
  for (const bool prepareFirst : {true, false}) {
    for (const bool firstAnswersFirst : {true, false}) {
      test::LedgerNode one;
      one.hardware = node.hardware;
      one.settings = node.settings;
      one.start();
      one.answersQuestions = false;
      std::vector<CallId> calls;
      for (const bool prepare : {prepareFirst, !prepareFirst}) {
        calls.push_back(prepare ? one.askPrepare("c1", "gpu", {at(kA)}) : one.ask("gpu", {kA}));
      }
      if (!firstAnswersFirst) std::swap(calls[0], calls[1]);
      int granted = 0;
      for (const CallId call : calls) {
        one.run(
            one.ledger.groupRead(IommuGroupId(31), one.reread(IommuGroupId(31)), call, one.now));
        granted += one.outcome(call) == "granted" ? 1 : 0;
      }
      EXPECT_EQ(granted, 1);
    }
  }
}

// 15, I1.
TEST_F(LedgerCase, SpuriousUnprepareOpen) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  setUse(31, GroupUse::kOpen);
  EXPECT_EQ(node.unprepare("c1"), "still-open");
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  EXPECT_TRUE(node.unlinked.empty());
}

// 16, order: the spec is gone before the group is free.
TEST_F(LedgerCase, SpuriousUnprepareIdle) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.writesSpecs = false;
  EXPECT_EQ(node.unprepare("c1"), "waits");
  EXPECT_EQ(node.holding(kA), Holding::kAllocated) << "not free before the spec is unlinked";
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"});
  node.run(node.ledger.specUnlinked("c1", true, node.now));
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// Row 14 and 5.5: the spec is durable before the group is allocated.
TEST_F(LedgerCase, AClaimIsAllocatedOnlyWithItsSpec) {
  node.start();
  node.writesSpecs = false;
  const CallId call = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.outcome(call), "waits");
  node.run(node.ledger.specWritten(call, false, node.now));
  EXPECT_EQ(node.outcome(call), "cdi");
  EXPECT_EQ(node.unlinked, std::vector<std::string>{"c1"}) << "nobody holds what it may say";
  EXPECT_EQ(node.holding(kA), Holding::kFree);
}

// Rows 6 and 44: the same claim gets the same answer, an unknown one success.
TEST_F(LedgerCase, AClaimIsPreparedAgain) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  setUse(31, GroupUse::kOpen);
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  EXPECT_EQ(node.ledger.state().records.size(), 1U);
  EXPECT_EQ(node.prepare("c2", "other", {at(kB)}), "group-allocated");
  EXPECT_EQ(node.unprepare("c9"), "done");
}

// Row 45.
TEST_F(LedgerCase, CallsForOneClaimRunOneAfterTheOther) {
  node.start();
  node.answersQuestions = false;
  const CallId first = node.askPrepare("c1", "gpu", {at(kA)});
  const CallId again = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.outcome(again), "waits");
  node.answersQuestions = true;
  node.run(node.ledger.groupRead(IommuGroupId(31), node.reread(IommuGroupId(31)), first, node.now));
  EXPECT_EQ(node.outcome(first), "granted");
  EXPECT_EQ(node.outcome(again), "granted");
}

// Row 46.
TEST_F(LedgerCase, ALostUnprepareIsFoundTwice) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(10s);
  EXPECT_EQ(node.holding(kA), Holding::kAllocated);
  node.pass(55s);
  node.run(node.ledger.claimChecked("c1", false, node.now));
  node.pass(5s);
  EXPECT_EQ(node.holding(kA), Holding::kFree);
  EXPECT_TRUE(node.told("claim-gone"));
}

// Section 6: without a frame there is no reconcile that proves anything, and nothing that it could
// show where the kubelet knows no resource of ours.
TEST_F(LedgerCase, ANodeThatServesClaimsOnlyIsAdoptedAtOnce) {
  for (ResourceSettings& entry : node.settings.resources) entry.allocation.serve = Serve::kDra;
  node.streams = false;
  node.registered = {{"example.com/nic", {"eth0"}}};
  node.start(false);
  EXPECT_TRUE(node.ledger.adopted());
  EXPECT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
}

// A kubelet that has written no checkpoint has none of our devices registered; one that cannot be
// read may have.
TEST_F(LedgerCase, ACheckpointThatWasNeverWrittenSaysThatNothingWasServed) {
  for (const bool neverWritten : {true, false}) {
    test::LedgerNode one;
    one.hardware = node.hardware;
    one.settings = node.settings;
    for (ResourceSettings& entry : one.settings.resources) entry.allocation.serve = Serve::kDra;
    one.streams = one.readable = false;
    one.noCheckpoint = neverWritten;
    one.start(false);
    EXPECT_EQ(one.ledger.adopted(), neverWritten);
  }
}

// What the plugind before answered through the device plugin may be unrecorded still.
TEST_F(LedgerCase, WhatWasServedToThePluginIsWaitedFor) {
  for (ResourceSettings& entry : node.settings.resources) entry.allocation.serve = Serve::kDra;
  node.streams = false;
  node.registered = {{"vfiogate.dev/was", {kA}}};
  node.start(false);
  node.pass(5s);
  const CallId prepare = node.askPrepare("c1", "gpu", {at(kA)});
  EXPECT_EQ(node.outcome(prepare), "waits");
  node.pass(26s);
  EXPECT_TRUE(node.ledger.adopted());
  EXPECT_EQ(node.outcome(prepare), "granted");
}

}  // namespace
}  // namespace vfiogate
