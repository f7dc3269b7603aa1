// The stand-in kubelet, its checkpoint: when it is written, and what it carries over.

#include "tests/integration/kubelet_edges.h"

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

}  // namespace
}  // namespace vfiogate::sim
