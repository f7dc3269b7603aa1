// The stand-in kubelet, admission: which ids a plugin is asked for, and what a pod gets of it.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {
namespace {

using testing::SizeIs;

TEST_F(KubeletEdges, K11_OneContainerRequestInADrawnOrder) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b", "c", "d", "e", "f"});
  std::set<std::vector<std::string>> orders;
  for (int i = 0; i < 8; ++i) {
    const std::string uid = "pod-" + std::to_string(i);
    EXPECT_TRUE(kubelet_.admit({uid, {}, {{"c", {{kGpu, 6}}}}}).admitted);
    orders.insert(plugin->allocations().back());
    kubelet_.end(uid);
  }
  EXPECT_GT(orders.size(), 1U) << "the order of ids is arbitrary";
  EXPECT_THAT(plugin->containerRequests(), testing::Each(1));
}

TEST_F(KubeletEdges, K11_InitDevicesAreOfferedAgain) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const auto admission = kubelet_.admit({"pod", {{"init", {{kGpu, 1}}}}, {{"app", {{kGpu, 1}}}}});
  ASSERT_TRUE(admission.admitted) << admission.message;
  ASSERT_THAT(plugin->allocations(), SizeIs(2));
  EXPECT_EQ(plugin->allocations()[0], plugin->allocations()[1]);
}

TEST_F(KubeletEdges, K11_AppContainersDoNotShare) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const auto admission = kubelet_.admit({"pod", {}, {{"one", {{kGpu, 1}}}, {"two", {{kGpu, 1}}}}});
  ASSERT_TRUE(admission.admitted) << admission.message;
  EXPECT_NE(plugin->allocations()[0], plugin->allocations()[1]);
}

TEST_F(KubeletEdges, K11_ARecordedContainerIsNotAskedForAgain) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const PodSpec pod{"pod", {}, {{"c", {{kGpu, 1}}}}};
  EXPECT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_THAT(plugin->allocations(), SizeIs(1));
}

TEST_F(KubeletEdges, K11_TooFewDevicesRejectWithoutACall) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto admission = kubelet_.admit({"two", {}, {{"c", {{kGpu, 2}}}}});
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.reason, "UnexpectedAdmissionError");
  EXPECT_THAT(plugin->allocations(), SizeIs(1));
}

TEST_F(KubeletEdges, K11_AnEndedPodsDevicesAreFreeAtTheNextAdmission) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_FALSE(kubelet_.admit({"two", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  kubelet_.end("one");
  EXPECT_TRUE(kubelet_.admit({"three", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletEdges, K14_EarlierSuccessesAreNotRolledBack) {
  kubelet_.start();
  const auto gpu = serve(kGpu, {"a"}, "gpu.sock");
  const auto nic = serve(kNic, {"n"}, "nic.sock");
  nic->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "no"}; });
  const auto admission = kubelet_.admit({"pod", {}, {{"one", {{kGpu, 1}}}, {"two", {{kNic, 1}}}}});
  EXPECT_FALSE(admission.admitted);
  EXPECT_THAT(admission.granted, SizeIs(1));
  EXPECT_THAT(gpu->allocations(), SizeIs(1)) << "the plugin hears nothing of it";
}

TEST_F(KubeletEdges, K15_AnEmptyReplyBlocksTheIdsUntilARecount) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.containers = 0}; });
  EXPECT_FALSE(kubelet_.admit({"two", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate({});
  EXPECT_FALSE(kubelet_.admit({"three", {}, {{"c", {{kGpu, 1}}}}}).admitted) << "still blocked";
  kubelet_.end("one");  // something to free, hence a recount
  EXPECT_TRUE(kubelet_.admit({"four", {}, {{"c", {{kGpu, 2}}}}}).admitted);
}

TEST_F(KubeletEdges, K14_ARefusedIdIsFreeForTheNextPod) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "group 7 is busy"}; });
  EXPECT_FALSE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate({});
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletEdges, K11_InitDevicesAreOfferedAgainAfterARestart) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a"});
  int calls = 0;
  plugin->onAllocate([&](const auto&) {
    if (++calls == 2) kubelet_.dieInAllocate();
    return TinyPlugin::Reply{};
  });
  const PodSpec pod{"pod", {{"init", {{kGpu, 1}}}}, {{"app", {{kGpu, 1}}}}};
  EXPECT_TRUE(kubelet_.admit(pod).kubeletDied);
  plugin.reset();
  kubelet_.start();
  plugin = serve(kGpu, {"a"});
  const auto again = kubelet_.admit(pod);
  EXPECT_TRUE(again.admitted) << again.message;
  EXPECT_THAT(plugin->allocations(), SizeIs(1)) << "the init container is recorded";
}

TEST_F(KubeletEdges, K11_TheAnswerIsKeptForEachContainerAndResource) {
  kubelet_.start();
  const auto gpu = serve(kGpu, {"a", "b"}, "gpu.sock");
  const auto nic = serve(kNic, {"n"}, "nic.sock");
  const PodSpec pod{"pod", {}, {{"one", {{kGpu, 1}, {kNic, 1}}}, {"two", {{kGpu, 1}}}}};
  ASSERT_TRUE(kubelet_.admit(pod).admitted);
  const auto records = kubelet_.records();
  ASSERT_THAT(records, SizeIs(3));
  for (const CheckpointEntry& record : records) {
    v1beta1::ContainerAllocateResponse response;
    ASSERT_TRUE(response.ParseFromString(record.allocResp));
    EXPECT_EQ(response.envs().at("IDS"), record.devices.at(-1).at(0));
  }
}

TEST_F(KubeletEdges, K11_ASidecarKeepsItsDevices) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  const ContainerSpec sidecar{.name = "side", .limits = {{kGpu, 1}}, .sidecar = true};
  EXPECT_FALSE(kubelet_.admit({"pod", {sidecar}, {{"app", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletEdges, K11_ARecordedContainerMustAskForAsMany) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto admission = kubelet_.admit({"pod", {}, {{"c", {{kGpu, 2}}}}});
  EXPECT_FALSE(admission.admitted);
  EXPECT_THAT(admission.message, testing::HasSubstr("from 1 to 2"));
}

TEST_F(KubeletEdges, K20_AUidAdmittedAgainAfterItsEndKeepsWhatItHas) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  const PodSpec pod{"pod", {}, {{"c", {{kGpu, 1}}}}};
  ASSERT_TRUE(kubelet_.admit(pod).admitted);
  kubelet_.end("pod");
  ASSERT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_FALSE(kubelet_.admit({"other", {}, {{"c", {{kGpu, 1}}}}}).admitted)
      << "the end was that of its earlier life";
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(1));
}

TEST_F(KubeletEdges, K20_AUidThatComesAgainHoldsWhatItGets) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "busy"}; });
  const PodSpec pod{"pod", {}, {{"c", {{kGpu, 1}}}}};
  EXPECT_FALSE(kubelet_.admit(pod).admitted);
  plugin->onAllocate({});
  EXPECT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_FALSE(kubelet_.admit({"other", {}, {{"c", {{kGpu, 1}}}}}).admitted)
      << "one device, two live pods";
}

}  // namespace
}  // namespace vfiogate::sim
