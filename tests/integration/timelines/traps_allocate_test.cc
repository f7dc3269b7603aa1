// The traps of kubelet-contract.md 8 about who is given what, and when it is free again: each is a
// naive assumption, what the kubelet does to it, and what becomes of it here. T5, T7 and T12 are in
// traps_frames_test.cc, those about registrations and restarts in traps_registration_test.cc.

#include "tests/integration/timelines/traps.h"

#include <chrono>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// "Release will be signalled": the hardware tells it.
TEST_F(Traps, T1_ADeviceThatIsFreedWhileOpenIsNotAllocated) {
  start();
  runOnA("p1");
  end("p1");  // its machine hangs, and keeps the file
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("still-open"));
  EXPECT_TRUE(shows(kGpu, {}, {kA})) << said();
  hardware().setEnable(kA, 0);
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_EQ(admit(podOf("p3", kGpu)), std::vector{kA});
}

// "Allocate tells who asks": what is open is somebody else's, what is idle may be the same pod's.
TEST_F(Traps, T2_TheSamePodMayAskTwiceAndAnotherMayNot) {
  start();
  const auto pod = kubelet().admit(withInit("p1"));
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_THAT(pod.granted, SizeIs(2));
  EXPECT_EQ(pod.granted[0].ids, pod.granted[1].ids);
  ASSERT_EQ(startContainer("p1", "init"), "");
  kubelet().stopContainer("p1", "init");
  ASSERT_EQ(startContainer("p1"), "") << said();
  hardware().setEnable(kA, 1);
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_THAT(offer(kGpu, kA), AllOf(HasSubstr("still-open"), Not(HasSubstr("p1"))));
}

// "Mark busy devices Unhealthy": only siblings that nobody has; the held one stays (I4).
TEST_F(Traps, T6_ALentDeviceStaysHealthyAndItsSiblingDoesNot) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}));
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  ASSERT_TRUE(shows(kOther, {}, {kB})) << said();
  const auto counts = kubelet().nodeStatus();
  EXPECT_EQ(counts.at(kGpu), (sim::NodeCounts{1, 1}));
  EXPECT_EQ(kubelet().allocated(kGpu), Ids{kA}) << "allocatable - held is 0, not negative";
  EXPECT_EQ(counts.at(kOther), (sim::NodeCounts{1, 0}));
  kubelet().restart({.sourcesReady = false});
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_TRUE(kubelet().admit(podOf("p1", kGpu)).admitted);
}

// "The checkpoint knows": unreadable, it makes the kubelet offer what is in use.
TEST_F(Traps, T9_AKubeletThatLostItsCheckpointCannotAllocateWhatIsOpen) {
  start();
  runOnA("p1");
  kubelet().stop();
  kubelet().corruptCheckpoint();
  kubelet().start();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  ASSERT_TRUE(kubelet().awaitFrames(kOther, 1)) << said();
  EXPECT_THAT(kubelet().allocated(kGpu), IsEmpty()) << "the kubelet forgot";
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("forgotten"));
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-")) << "nor its sibling";
}

// "Bind in Allocate": not repeated after a reboot; PreStart tells, and passes once it is bound.
TEST_F(Traps, T10_AfterARebootAnUnboundDeviceIsRefusedUntilItIsBound) {
  start();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  ASSERT_EQ(startContainer("p1"), "");
  powerOff();
  for (const auto& address : {kA, kB}) hardware().setDriver(address, "nouveau");
  start();
  EXPECT_THAT(startContainer("p1"), HasSubstr("not-viable"));
  for (const auto& address : {kA, kB}) hardware().setDriver(address, "vfio-pci");
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
}

// "Cache the group's number": after a reboot it is another device's.
TEST_F(Traps, T11_ACachedAnswerNeverOpensAnotherDevicesGroup) {
  addC();
  start({kA, kC});
  sim::PodSpec pod = podOf("p1", kGpu);
  pod.containers[0].alignTo = std::set<long>{0};
  ASSERT_EQ(admit(pod), std::vector{kA});
  ASSERT_EQ(startContainer("p1"), "");
  powerOff();
  for (const auto& address : {kA, kB}) hardware().setGroup(address, 13);
  hardware().setGroup(kC, 7);  // what the answer of p1 says
  start({kA, kC});
  EXPECT_THAT(startContainer("p1"), HasSubstr("stale-nodes"));
  end("p1");
  EXPECT_EQ(admit(podOf("p2", kGpu, 2)).size(), 2U);
  EXPECT_EQ(startContainer("p2"), "") << said();
}

// "Allocate's success starts the container": a later container of the pod failed, no undo comes.
TEST_F(Traps, T13_WhatAFailedPodWasGivenIsAllocatedToTheNext) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}));
  rejected({.uid = "p1",
            .initContainers = {},
            .containers = {{"first", {{kGpu, 1}}}, {"second", {{kOther, 1}}}}});
  EXPECT_EQ(admit(podOf("p2", kGpu)), std::vector{kA});
  EXPECT_EQ(startContainer("p2"), "") << said();
}

// "Block until it is free": that stalls every pod of the node.
TEST_F(Traps, T14_ARefusalComesAtOnce) {
  addC();
  start({kA, kC});
  adopt();
  hardware().setEnable(kA, 1);
  ASSERT_TRUE(node_->seen()) << said();
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_THAT(offer(kGpu, kA), HasSubstr("open"));
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(4))
      << "allocateWait is 5";
  EXPECT_EQ(offer(kGpu, kC), "");
}

// "Return more preferred devices": the kubelet takes a random subset. All that is asked, on one
// NUMA node.
TEST_F(Traps, T15_AsManyArePreferredAsAreAsked) {
  addC();
  hardware().add({.address = "0000:03:00.0", .group = 9, .numaNode = 1});
  hardware().add({.address = "0000:04:00.0", .group = 10, .numaNode = 1});
  start({kA, kC, "0000:03:00.0", "0000:04:00.0"});
  EXPECT_THAT(admit(podOf("p1", kGpu, 3)),
              UnorderedElementsAre(kC, "0000:03:00.0", "0000:04:00.0"));
  EXPECT_EQ(admit(podOf("p2", kGpu)), std::vector{kA});
}

// "GetPreferredAllocation picks whole groups": the kubelet may split one all the same.
TEST_F(Traps, T16_ASplitGroupIsOnePodsAlone) {
  config_ =
      "resources: [{name: vfiogate.dev/gpu, groupUnit: all, select: {vendor: \"10de\"}},"
      " {select: {vendor: \"1b36\"}}]\n";
  hardware().setAttribute(kB, "numa_node", "1");
  hardware().add({.address = kC, .group = 8, .numaNode = 0});
  start({kA, kB, kC});
  sim::PodSpec pod = podOf("p1", kGpu, 2);
  pod.containers[0].alignTo = std::set<long>{0};
  ASSERT_THAT(admit(pod), UnorderedElementsAre(kA, kC));
  EXPECT_TRUE(shows(kGpu, {kA, kC}, {kB})) << said();
  EXPECT_THAT(offer(kGpu, kB), HasSubstr("group-allocated"));
}

// "PodResources tells the truth": it says nothing of plain init containers, nor of who was
// deleted by force.
TEST_F(Traps, T18_ThatListSaysNothingFreesNothing) {
  start();
  ASSERT_TRUE(shows(kOther, {kB})) << said();
  adopt();
  ASSERT_TRUE(kubelet()
                  .admit({.uid = "p1",
                          .initContainers = {{"init", {{kGpu, 1}}}},
                          .containers = {{"compute", {}}}})
                  .admitted);
  ASSERT_EQ(startContainer("p1", "init"), "");
  const std::size_t frames = kubelet().frames(SplitNode::kMarkerResource);
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));  // a refusal makes a reconcile
  ASSERT_TRUE(kubelet().awaitFrames(SplitNode::kMarkerResource, frames + 2)) << said();
  hardware().setEnable(kA, 1);
  ASSERT_TRUE(node_->seen()) << said();
  kubelet().forceDelete("p1");
  EXPECT_THAT(rejected(podOf("p2", kGpu)), HasSubstr("still-open"));
  EXPECT_THAT(offer(kOther, kB), HasSubstr("still-open"));
}

}  // namespace
}  // namespace vfiogate::test
