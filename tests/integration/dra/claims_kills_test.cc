// Programs that die in the middle of a Prepare: the call ends, the next one works, and nothing is
// allocated twice.

#include "tests/integration/dra/claim_case.h"

#include <csignal>
#include <future>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

class DraKills : public ClaimCase {
protected:
  /// A pod's start on a thread, to be killed into.
  std::future<sim::PodStart> starts(const std::string& pod, const std::string& claim) {
    EXPECT_TRUE(node_->kubelet.admit(podWith(pod, claim)).admitted);
    return std::async(std::launch::async, [this, pod]() { return node_->kubelet.startPod(pod); });
  }
  /// By the first try, or by the kubelet's next.
  bool started(const std::string& pod, std::future<sim::PodStart>& first) {
    return first.get().started || node_->kubelet.awaitStarted(pod);
  }
  /// The claim's group is the claim's, and goes with its pod.
  void isHeldOnceAndFreed(const std::string& uid, const std::string& pod,
                          const std::string& address) {
    EXPECT_TRUE(specIsThere(uid));
    claimFor("rival", "rival", {address});
    ASSERT_TRUE(node_->kubelet.admit(podWith("rival", "rival")).admitted);
    EXPECT_THAT(startUntilAnswered("rival").error, HasSubstr("group-allocated")) << node_->said();
    node_->kubelet.end(pod);
    ASSERT_TRUE(node_->kubelet.awaitEnded(pod)) << node_->said();
    EXPECT_FALSE(specIsThere(uid));
    EXPECT_TRUE(node_->kubelet.awaitStarted("rival")) << node_->said();
  }
};

TEST_F(DraKills, NetdWhileItReadsTheClaim) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  remember("c1");
  claimReads({{"hang", 30}});
  const std::size_t before = api_->asked(kClaimsRead);
  const auto begun = std::chrono::steady_clock::now();
  auto start = starts("p1", "c1");
  ASSERT_TRUE(until([&]() { return api_->asked(kClaimsRead) > before; }));
  node_->netdDra.reset();
  EXPECT_THAT(start.get().error, HasSubstr("netd dra"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  startNetd();
  ASSERT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
  isHeldOnceAndFreed(uid, "p1", kC);
}

// The one that waits for the claim is not the one that is killed: a netd that hangs is left alone.
TEST_F(DraKills, AClaimThatIsReadForTooLongFailsWithin45Seconds) {
  startAll();
  claimFor("c1", "p1", {kC});
  remember("c1");
  claimReads({{"hang", 60}});
  const auto begun = std::chrono::steady_clock::now();
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, testing::Not(HasSubstr("DEADLINE")));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
}

// What reading the claim took is a part of the kubelet's 45 s, and the reason reaches its pod.
TEST_F(DraKills, PrivdWhileTheClaimIsReadForLong) {
  startAll();
  claimFor("c1", "p1", {kC});
  remember("c1");
  claimReads({{"hang", 7}});
  const std::size_t before = api_->asked(kClaimsRead);
  auto start = starts("p1", "c1");
  ASSERT_TRUE(until([&]() { return api_->asked(kClaimsRead) > before; }));
  node_->signalPrivd(SIGSTOP);  // a gate that sees the others die withdraws the registration
  node_->killPrivd();
  EXPECT_THAT(start.get().error, HasSubstr("privd-away")) << node_->said();
  startPrivd();
  EXPECT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
}

// I1: the spec may be on disk or not; whichever it is, the new plugind knows.
TEST_F(DraKills, I1_PlugindWhileTheSpecIsWritten) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kA});
  remember("c1");
  node_->signalPrivd(SIGSTOP);
  const std::size_t before = api_->asked(kClaimsRead);
  auto start = starts("p1", "c1");
  ASSERT_TRUE(until([&]() { return api_->asked(kClaimsRead) > before; }));
  EXPECT_EQ(start.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
  node_->killPlugind();
  node_->signalPrivd(SIGCONT);
  EXPECT_FALSE(start.get().started);
  startPlugind();
  ASSERT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
  isHeldOnceAndFreed(uid, "p1", kB);
}

// I1: nobody heard that it was written.
TEST_F(DraKills, I1_PlugindAfterTheSpecWasWritten) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kA});
  auto start = starts("p1", "c1");
  ASSERT_TRUE(until([&]() { return specIsThere(uid); }));
  node_->killPlugind();
  startPlugind();
  ASSERT_TRUE(started("p1", start)) << node_->said();
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  isHeldOnceAndFreed(uid, "p1", kB);
}

// I1: the same of privd, as near to its write as can be seen from outside.
TEST_F(DraKills, I1_PrivdBetweenTheSpecAndItsAnswer) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kA});
  auto start = starts("p1", "c1");
  const auto end = std::chrono::steady_clock::now() + sim::kPatience;
  while (!specIsThere(uid) && std::chrono::steady_clock::now() < end) sched_yield();
  node_->killPrivd();
  ASSERT_TRUE(specIsThere(uid));
  startPrivd();
  ASSERT_TRUE(started("p1", start)) << node_->said();
  isHeldOnceAndFreed(uid, "p1", kB);
}

// I1: and before it wrote anything.
TEST_F(DraKills, I1_PrivdBeforeItWritesTheSpec) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kA});
  node_->signalPrivd(SIGSTOP);
  auto start = starts("p1", "c1");
  EXPECT_EQ(start.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
  node_->killPrivd();
  EXPECT_FALSE(specIsThere(uid));
  startPrivd();
  ASSERT_TRUE(started("p1", start)) << node_->said();
  isHeldOnceAndFreed(uid, "p1", kB);
}

// I1, T30: all at once, and the kubelet with them; the pod runs through it.
TEST_F(DraKills, I1_T30_EverythingWhileAPodRuns) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kA});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  const auto before = devices();
  const auto paths = pathsOf(uid);
  node_->hardware.setEnable(kA, 1);
  node_->kubelet.stop();
  node_->killPlugind();
  node_->killPrivd();
  node_->netdDra.reset();
  startAll();
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; }));
  EXPECT_EQ(pathsOf(uid), paths);
  claimFor("c2", "p2", {kB});
  ASSERT_TRUE(node_->kubelet.admit(podWith("p2", "c2")).admitted);
  EXPECT_THAT(startUntilAnswered("p2").error, HasSubstr("group-allocated"));
  node_->hardware.setEnable(kA, 0);
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p2"));
}

}  // namespace
}  // namespace vfiogate::test
