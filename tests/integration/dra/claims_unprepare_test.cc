// What a kubelet does not guarantee about Prepare and Unprepare (kubelet-contract.md 5.3), through
// the three real programs.

#include "tests/integration/dra/claim_case.h"

#include <csignal>
#include <future>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DraUnprepare : public ClaimCase {
protected:
  /// A pod that names the claim but may not use it: when it ends, the kubelet takes the one
  /// reference to the claim for its own (row 2 of the table in 5.3).
  void strangerEnds(const std::string& pod, const std::string& claim) {
    EXPECT_THAT(run(podWith(pod, claim)).error, HasSubstr("not allowed"));
    node_->kubelet.end(pod);
  }
  /// Status and reason of the first device's condition.
  std::string readyOf(const std::string& claim) {
    const auto condition = api_->claim(claim).value("/status/devices/0/conditions/0"_json_pointer,
                                                    nlohmann::json::object());
    return condition.value("status", "") + " " + condition.value("reason", "");
  }
  bool startsSoon(const std::string& pod, const sim::PodStart& first) {
    return first.started || node_->kubelet.awaitStarted(pod);
  }
  /// As of a pod's end, on a thread: it waits for the driver.
  std::future<void> ends(const std::string& pod) {
    return std::async(std::launch::async, [this, pod]() { node_->kubelet.end(pod); });
  }
};

// I1, timeline 15.
TEST_F(DraUnprepare, I1_SpuriousUnprepareOfAnOpenDeviceIsRefused) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  node_->hardware.setEnable(kC, 1);
  strangerEnds("p2", "c1");
  EXPECT_TRUE(plugindSays("still-open")) << node_->said();
  EXPECT_TRUE(until([this]() { return readyOf("c1") == "False NotReleased"; })) << readyOf("c1");
  EXPECT_TRUE(node_->kubelet.isTerminating("p2"));
  EXPECT_TRUE(specIsThere(uid));
  claimFor("c3", "p3", {kC});
  EXPECT_THAT(run(podWith("p3", "c3")).error, HasSubstr("group-allocated"));
  EXPECT_TRUE(node_->kubelet.restartContainer("p1", "compute").started) << "p1 lost nothing";
  node_->hardware.setEnable(kC, 0);
  node_->kubelet.end("p1");
  EXPECT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_TRUE(node_->kubelet.awaitEnded("p2"));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p3"));
}

// I1, timeline 16: the survivor loses, nobody shares.
TEST_F(DraUnprepare, I1_SpuriousUnprepareOfAnIdleDeviceFreesItWithItsSpec) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  strangerEnds("p2", "c1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p2"));
  EXPECT_FALSE(specIsThere(uid));
  claimFor("c3", "p3", {kC});
  EXPECT_TRUE(run(podWith("p3", "c3")).started) << node_->said();
  EXPECT_FALSE(node_->kubelet.restartContainer("p1", "compute").started);
}

// I1: the pod that joins is told that the claim is prepared, without a call.
TEST_F(DraUnprepare, I1_APodThatJoinsWhileUnprepareRunsKeepsWhatItHasOpen) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  ASSERT_EQ(claims_->reserve("default", "c1", "p2"), "");
  node_->signalPrivd(SIGSTOP);
  auto ended = ends("p1");
  ASSERT_TRUE(until([this]() { return node_->kubelet.isTerminating("p1"); }));
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
      << "Unprepare runs";
  ASSERT_TRUE(run(podWith("p2", "c1")).started) << "and there is no Prepare";
  node_->hardware.setEnable(kC, 1);
  node_->signalPrivd(SIGCONT);
  ended.get();
  EXPECT_TRUE(specIsThere(uid)) << node_->said();
  claimFor("c3", "p3", {kC});
  EXPECT_FALSE(run(podWith("p3", "c3")).started);
  // p1's next try only takes its reference away: the claim is p2's.
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_TRUE(specIsThere(uid));
  node_->hardware.setEnable(kC, 0);
  node_->kubelet.end("p2");
  EXPECT_TRUE(node_->kubelet.awaitStarted("p3")) << node_->said();
}

TEST_F(DraUnprepare, OfAClaimThatWasNeverPreparedSucceeds) {
  startAll();
  api_->makeClaim("c1", kDriver, {{.device = nameOf(kC), .adminAccess = true}});
  ASSERT_EQ(claims_->reserve("default", "c1", "p1"), "");
  ASSERT_THAT(run(podWith("p1", "c1")).error, HasSubstr("adminAccess"));
  ASSERT_FALSE(node_->kubelet.claimRecords().empty()) << "the kubelet has it nevertheless";
  node_->kubelet.end("p1");
  EXPECT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_THAT(node_->kubelet.claimRecords(), IsEmpty());
  claimFor("c2", "p2", {kC});
  EXPECT_TRUE(run(podWith("p2", "c2")).started);
}

// T27: both calls wait for the API server at the same time.
TEST_F(DraUnprepare, T27_TwoPodsPrepareOneClaimAtOnce) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_EQ(claims_->reserve("default", "c1", "p2"), "");
  remember("c1");
  claimReads({{"hang", 1}, {"times", 2}});
  const std::size_t before = api_->asked(kClaimsRead);
  const std::size_t written = api_->asked(kClaimsWrite);
  auto first = std::async(std::launch::async, [this]() { return run(podWith("p1", "c1")); });
  auto second = std::async(std::launch::async, [this]() { return run(podWith("p2", "c1")); });
  const sim::PodStart one = first.get();
  const sim::PodStart two = second.get();
  ASSERT_TRUE(one.started && two.started) << one.error << two.error;
  // Two Prepares and two reports, which come after the answers; a report that the other one came
  // before reads once more.
  const auto reported = [&]() {
    const std::size_t writes = api_->asked(kClaimsWrite) - written;
    return (writes == 1U || writes == 2U) &&
           api_->asked(kClaimsRead) - before == 2U + 2U + (writes - 1U);
  };
  EXPECT_TRUE(until(reported)) << node_->said();
  EXPECT_EQ(one.containers.at("compute").cdiDevices, two.containers.at("compute").cdiDevices);
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_TRUE(specIsThere(uid)) << "the other pod's";
  node_->kubelet.end("p2");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p2"));
  EXPECT_FALSE(specIsThere(uid));
}

TEST_F(DraUnprepare, OfAClaimThatIsDeletedByThenFreesIt) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  api_->deleteClaim("c1");
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
  claimFor("c2", "p2", {kC});
  EXPECT_TRUE(run(podWith("p2", "c2")).started);
}

// I1: up to a minute after the API object is gone the kubelet unprepares, whatever still runs.
TEST_F(DraUnprepare, I1_AForceDeletedPodsMachineKeepsItsDevice) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  node_->hardware.setEnable(kC, 1);
  node_->kubelet.forceDelete("p1");
  EXPECT_TRUE(plugindSays("still-open")) << node_->said();
  EXPECT_TRUE(specIsThere(uid));
  claimFor("c2", "p2", {kC});
  EXPECT_FALSE(run(podWith("p2", "c2")).started);
  node_->hardware.setEnable(kC, 0);
  EXPECT_TRUE(node_->kubelet.awaitStarted("p2"));
  EXPECT_FALSE(specIsThere(uid));
}

// What the hardware process read is judged by itself then.
TEST_F(DraUnprepare, I1_OfADeviceWhoseUseIsUnknownIsRefusedWithThatWhereTheBinderIsStopped) {
  node_->kubelet.start();
  startPlugind();
  startPrivd({"--plugind-rights", "watch,kubelet,cdi,probe"});
  startNetd();
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  ASSERT_TRUE(plugindSays("event=binder_came")) << node_->said();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  const pid_t binder = node_->roleOf("binder");
  ASSERT_GT(binder, 0);
  node_->hardware.removeAttribute(kC, "enable");
  kill(binder, SIGSTOP);
  auto ended = ends("p1");
  EXPECT_TRUE(plugindSays("cannot-tell")) << node_->said();
  EXPECT_TRUE(specIsThere(uid));
  node_->hardware.setEnable(kC, 0);
  kill(binder, SIGCONT);
  ended.get();
  EXPECT_TRUE(node_->kubelet.awaitEnded("p1")) << node_->said();
  EXPECT_FALSE(specIsThere(uid));
}

/// A kubelet that does not wait 45 s.
class DraDeadline : public DraUnprepare {
protected:
  void adjust(sim::KubeletOptions& options) override {
    options.dra.times.call = std::chrono::seconds(2);
  }
};

TEST_F(DraDeadline, APrepareThatIsCancelledWhileTheClaimIsReadIsMadeUpFor) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  remember("c1");
  claimReads({{"hang", 4}});
  const sim::PodStart first = run(podWith("p1", "c1"));
  EXPECT_THAT(first.error, HasSubstr("NodePrepareResources"));
  EXPECT_FALSE(specIsThere(uid));
  ASSERT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
  EXPECT_THAT(pathsOf(uid), ElementsAre("/dev/vfio/vfio", "/dev/vfio/8"));
}

// I1: nobody waits for the answer any more, and the group is taken.
TEST_F(DraDeadline, I1_APrepareThatIsCancelledWhileItsSpecIsWrittenIsMadeUpFor) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  node_->signalPrivd(SIGSTOP);
  const sim::PodStart first = run(podWith("p1", "c1"));
  EXPECT_FALSE(first.started);
  node_->signalPrivd(SIGCONT);
  ASSERT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
  EXPECT_TRUE(specIsThere(uid));
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
}

// I1: and nobody comes again but for Unprepare.
TEST_F(DraDeadline, I1_WhatACancelledPrepareLeftIsUnprepared) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  node_->signalPrivd(SIGSTOP);
  EXPECT_FALSE(run(podWith("p1", "c1")).started);
  auto ended = ends("p1");
  node_->signalPrivd(SIGCONT);
  ended.get();
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1")) << node_->said();
  EXPECT_TRUE(until([&]() { return !specIsThere(uid); }));
  claimFor("c2", "p2", {kC});
  EXPECT_TRUE(startsSoon("p2", run(podWith("p2", "c2")))) << node_->said();
  EXPECT_FALSE(specIsThere(uid));
}

// I1: the release stands, and comes through with the retry.
TEST_F(DraDeadline, I1_AnUnprepareThatIsCancelledIsMadeUpFor) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(startsSoon("p1", run(podWith("p1", "c1"))));
  node_->signalPrivd(SIGSTOP);
  node_->kubelet.end("p1");
  EXPECT_TRUE(node_->kubelet.isTerminating("p1"));
  EXPECT_TRUE(specIsThere(uid));
  node_->signalPrivd(SIGCONT);
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1")) << node_->said();
  EXPECT_FALSE(specIsThere(uid));
}

}  // namespace
}  // namespace vfiogate::test
