// The timelines of ledger.md 17 about pods that are deleted, and what is free when.

#include "tests/integration/timelines/timelines.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

// 2, I1.
TEST_F(Timelines, ForceDeleteRunning) {
  start();
  runOnA("p1");
  kubelet().forceDelete("p1");
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("still-open"));
  EXPECT_TRUE(shows(kGpu, {}, {kA})) << said();
  EXPECT_EQ(node_->plugind->count("\"event\":\"closed\""), 0U);
  hardware().setEnable(kA, 0);
  kubelet().end("p1");
  EXPECT_TRUE(node_->tells("closed", kA)) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_EQ(admit(podOf("p3", kGpu)), std::vector{kA});
}

// 3, I1: the window of section 15, bounded.
TEST_F(Timelines, ForceDeleteBeforeStart) {
  start();
  admit(podOf("p1", kGpu));
  kubelet().forceDelete("p1");
  ASSERT_EQ(admit(podOf("p2", kGpu)), std::vector{kA}) << "no PreStart was seen";
  ASSERT_EQ(startContainer("p2"), "") << said();
  kubelet().forceDelete("p2");
  EXPECT_THAT(rejected(podOf("p3", kGpu)), HasSubstr("starting"));
  EXPECT_TRUE(node_->plugind->saysAll({"\"event\":\"released\"", "\"podUid\":\"p2\""})) << said();
  EXPECT_EQ(admit(podOf("p4", kGpu)), std::vector{kA});
}

// 3, I1: the refusal of the window costs a pod only where no other device is free.
TEST_F(Timelines, AnotherDeviceIsPreferredToOneWhosePodMayStart) {
  addC();
  start({kA, kC});
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  ASSERT_EQ(startContainer("p1"), "") << said();
  kubelet().end("p1");
  EXPECT_EQ(admit(podOf("p2", kGpu)), std::vector{kC}) << said();
}

// 5, I4: List never names it.
TEST_F(Timelines, InitOnly) {
  start();
  ASSERT_TRUE(kubelet().shows(kOther, {kB})) << said();
  admit({.uid = "p1", .initContainers = {{"init", {{kGpu, 1}}}}, .containers = {{"compute", {}}}});
  ASSERT_EQ(startContainer("p1", "init"), "");
  kubelet().stopContainer("p1", "init");
  // A refusal makes a reconcile; its frames go to the first resource by name.
  const std::size_t frames = kubelet().frames(SplitNode::kMarkerResource);
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  ASSERT_TRUE(kubelet().awaitFrames(SplitNode::kMarkerResource, frames + 2)) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA});
  kubelet().end("p1");
  // The kubelet protects the pod last admitted.
  admit({.uid = "p2", .initContainers = {}, .containers = {{"compute", {}}}});
  EXPECT_TRUE(node_->tells("released", kA)) << said();
  EXPECT_TRUE(shows(kOther, {kB})) << said();
}

// 8, I1.
TEST_F(Timelines, KubeletDiesInAllocate) {
  addC();
  start({kA, kC});
  sim::PodSpec pod = podOf("p1", kGpu);
  pod.containers[0].alignTo = std::set<long>{0};
  kubelet().dieInAllocate();
  ASSERT_TRUE(kubelet().admit(pod).kubeletDied);
  kubelet().start();
  ASSERT_TRUE(shows(kGpu, {kA, kC})) << said();
  pod.containers[0].alignTo = std::set<long>{1};
  ASSERT_EQ(admit(pod), std::vector{kC});
  EXPECT_TRUE(shows(kOther, {}, {kB})) << "a is answered still" << said();
  EXPECT_TRUE(node_->plugind->saysAll({"\"event\":\"released\"", kA}, 1, 2 * kPatience)) << said();
  EXPECT_TRUE(shows(kOther, {kB})) << said();
}

// 8, I1: the other end.
TEST_F(Timelines, KubeletDiesInAllocateAndOffersSooner) {
  start();
  kubelet().dieInAllocate();
  ASSERT_TRUE(kubelet().admit(podOf("p1", kGpu)).kubeletDied);
  kubelet().start();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  EXPECT_TRUE(node_->tells("allocated-again", kA)) << said();
  EXPECT_EQ(startContainer("p1"), "");
}

}  // namespace
}  // namespace vfiogate::test
