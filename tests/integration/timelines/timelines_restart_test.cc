// The timelines of ledger.md 17 about restarts and lost memory.

#include "tests/integration/timelines/timelines.h"

#include <thread>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

// 6, I4.
TEST_F(Timelines, KubeletRestartRunning) {
  start();
  runOnA("p1");
  kubelet().restart({.sourcesReady = false});
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  ASSERT_TRUE(shows(kOther, {}, {kB})) << said();
  EXPECT_TRUE(kubelet().admit(podOf("p1", kGpu)).admitted);
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  kubelet().sourcesReady();
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA});
  EXPECT_EQ(kubelet().devices(kOther).healthy(), Ids{});
}

// 7, I1.
TEST_F(Timelines, KubeletRestartIdle) {
  start();
  admit(podOf("p1", kGpu));
  ASSERT_EQ(startContainer("p1"), "");
  kubelet().stopContainer("p1", "compute");
  kubelet().restart({.sourcesReady = false});
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  ASSERT_TRUE(shows(kOther, {}, {kB})) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  EXPECT_TRUE(kubelet().admit(podOf("p1", kGpu)).admitted);
  kubelet().sourcesReady();
  EXPECT_EQ(startContainer("p1"), "") << said();
}

// 9, I1: a plain init container's, which List never names; the checkpoint lags. privd's record has
// it.
TEST_F(Timelines, PlugindDiesAfterReply) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}))
      << said();  // and its checkpoint has it, by which B is shown again
  adopt();
  kubelet().holdCheckpoints();
  admit({.uid = "p1", .initContainers = {{"init", {{kGpu, 1}}}}, .containers = {{"compute", {}}}});
  restartPlugind();
  EXPECT_TRUE(node_->tells("restored", kA)) << said();
  ASSERT_TRUE(node_->plugind->saysAll({"event=stream_opened resource=" + kOther})) << said();
  EXPECT_THAT(offerShown(kOther, kB), HasSubstr("group-allocated"));
  EXPECT_TRUE(shows(kOther, {}, {kB})) << said();
  kubelet().releaseCheckpoints();
  EXPECT_TRUE(node_->tells("recorded", kA)) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
}

// 10, I1.
TEST_F(Timelines, PlugindDiesBeforeStart) {
  start();
  admit(podOf("p1", kGpu));
  node_->killPlugind();
  ASSERT_TRUE(kubelet().awaitStreamsEnded(kGpu, 1));
  EXPECT_THAT(startContainer("p1"), HasSubstr("has been stopped"));
  ASSERT_TRUE(node_->startPlugind(config_)) << said();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_TRUE(node_->tells("adopted", kA)) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
}

// 11, I1 and I5.
TEST_F(Timelines, CheckpointLostRunning) {
  start();
  runOnA("p1");
  kubelet().stop();
  kubelet().loseCheckpoint();
  kubelet().start();
  ASSERT_TRUE(node_->tells("kubelet-forgot", kA)) << said();
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("forgotten"));
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA}) << "its pod still counts";
}

// 12, I1.
TEST_F(Timelines, CheckpointLostIdle) {
  start();
  admit(podOf("p1", kGpu));
  ASSERT_TRUE(node_->tells("recorded", kA)) << said();
  kubelet().stop();
  kubelet().loseCheckpoint();
  kubelet().start();
  ASSERT_TRUE(node_->tells("kubelet-forgot", kA)) << said();
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("forgotten"));
}

// 24.
TEST_F(Timelines, TwoInstances) {
  start();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  ASSERT_TRUE(shows(kOther, {}, {kB}));
  const std::size_t registrations = kubelet().registrations(kGpu);
  SplitNode::Pair second(*node_, "second");
  ASSERT_TRUE(second.privd.says("event=instance_waits")) << second.privd.output();
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().registrations(kGpu), registrations);
  EXPECT_EQ(kubelet().streamsEnded(kGpu), 0U);
  node_->killPrivd();
  node_->killPlugind();
  ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, registrations + 1)) << second.plugind.output();
  EXPECT_TRUE(shows(kGpu, {kA})) << second.plugind.output();
  EXPECT_TRUE(second.plugind.saysAll({"\"event\":\"adopted\"", kA}));
  EXPECT_EQ(startContainer("p1"), "");
}

// 25.
TEST_F(Timelines, PrivdThenKubeletRestart) {
  start();
  node_->killPrivd();
  ASSERT_TRUE(node_->startPrivd()) << said();
  ASSERT_TRUE(node_->plugind->saysAll({"event=privd_came"}, 2)) << said();
  EXPECT_EQ(kubelet().streamsEnded(kGpu), 0U);
  kubelet().restart();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  // A kubelet that has bound and does not listen yet is tried again; EADDRINUSE is never met.
  EXPECT_EQ(node_->privd->count("event=socket_refused"), 0U) << said();
  EXPECT_EQ(node_->privd->count("in use"), 0U) << said();
  EXPECT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
}

// 32: live. privd's record of allocations has what the plugind before answered.
TEST_F(Timelines, AdoptIdleNode) {
  start();
  restartPlugind();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_TRUE(node_->plugind->saysAll({"ledger-adopted"}, 1)) << said();
}

// 33, I5.
TEST_F(Timelines, ForgottenNotYet) {
  start();
  runOnA("p1");
  kubelet().stop();
  kubelet().loseCheckpoint();
  kubelet().start();
  kubelet().holdCheckpoints();  // so that no two versions can be read
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(rejected(podOf("p2", kGpu)),
              HasSubstr("what the kubelet remembers could not be read in time"));
  EXPECT_EQ(node_->plugind->count("kubelet-forgot"), 0U);
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA}) << "forgotten, not lingering";
}

}  // namespace
}  // namespace vfiogate::test
