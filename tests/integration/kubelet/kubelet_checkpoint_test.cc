// The stand-in kubelet, its checkpoint: when it is written, and what it carries over.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST_F(KubeletEdges, K21_IsWrittenOnFramesAndGrantsAlone) {
  kubelet_.start();
  EXPECT_EQ(kubelet_.checkpointWrites(), 0U);
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_EQ(kubelet_.checkpointWrites(), 1U);
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_EQ(kubelet_.checkpointWrites(), 2U);
  kubelet_.end("pod");
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "no"}; });
  EXPECT_FALSE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_EQ(kubelet_.checkpointWrites(), 2U) << "freeing and refusals write nothing";
}

TEST_F(KubeletEdges, K21_NamesOnlyResourcesThatShowedAFrame) {
  kubelet_.start();
  EXPECT_EQ(kubelet_.frames(kNic), 0U);  // to ask is not to know
  const auto plugin = serve(kGpu, {"a"});
  const auto written = checkpoint();
  EXPECT_THAT(written.registered, SizeIs(1));
  EXPECT_EQ(written.entries, std::nullopt) << "null while no pod has a device";
}

TEST_F(KubeletEdges, K21_ARestartedKubeletKnowsItsPodsAndNoDevices) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto held = plugin->allocations().front();
  plugin.reset();
  kubelet_.restart();
  EXPECT_THAT(kubelet_.resources(), ElementsAre(kGpu));
  EXPECT_EQ(kubelet_.devices(kGpu).capacity(), 0U);
  plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_NE(plugin->allocations().front(), held) << "what the first pod holds is taken";
}

TEST_F(KubeletEdges, K21_IsNotWrittenForAnAdmissionThatFailsHalfWay) {
  kubelet_.start();
  const auto gpu = serve(kGpu, {"a"}, "gpu.sock");
  const auto nic = serve(kNic, {"n"}, "nic.sock");
  const auto refuse = [](const auto&) { return TinyPlugin::Reply{.error = "no"}; };
  nic->onAllocate(refuse);
  const auto before = kubelet_.checkpointWrites();
  EXPECT_FALSE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}, {kNic, 1}}}}}).admitted);
  EXPECT_EQ(kubelet_.checkpointWrites(), before);
}

TEST_F(KubeletEdges, K21_AWriterCanLag) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  kubelet_.holdCheckpoints();
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_TRUE(kubelet_.awaitHeldCheckpoints(1));
  EXPECT_EQ(checkpoint().entries, std::nullopt);
  kubelet_.releaseCheckpoints();
  EXPECT_THAT(checkpoint().entries.value(), SizeIs(1));
}

TEST_F(KubeletEdges, K21_AWriterCanBeOvertaken) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  kubelet_.holdCheckpoints();
  plugin->show({{"a"}, {"b"}});
  ASSERT_TRUE(kubelet_.awaitHeldCheckpoints(1));
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  kubelet_.writeHeldCheckpoint(1);
  EXPECT_THAT(checkpoint().entries.value(), SizeIs(1));
  kubelet_.writeHeldCheckpoint(0);
  EXPECT_EQ(checkpoint().entries, std::nullopt) << "older than the one before";
}

TEST_F(KubeletEdges, K21_WithoutItAllDevicesLookFree) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  for (const bool lost : {true, false}) {
    kubelet_.stop();
    if (lost)
      kubelet_.loseCheckpoint();
    else
      kubelet_.corruptCheckpoint();
    kubelet_.start();
    EXPECT_THAT(kubelet_.resources(), testing::IsEmpty());
    plugin.reset();
    plugin = serve(kGpu, {"a"});
    const std::string uid = lost ? "after-the-loss" : "after-the-damage";
    const Admission admission = kubelet_.admit({uid, {}, {{"c", {{kGpu, 1}}}}});
    EXPECT_THAT(plugin->allocations(), testing::SizeIs(1)) << "offered, and taken";
    // What the pod that was forgotten asks for counts still, after Allocate.
    EXPECT_EQ(admission.reason, std::string("OutOf") + kGpu);
    EXPECT_EQ(admission.message,
              std::string("Pod was rejected: Node didn't have enough resource: ") + kGpu +
                  ", requested: 1, used: 1, capacity: 1");
  }
}

}  // namespace
}  // namespace vfiogate::sim
