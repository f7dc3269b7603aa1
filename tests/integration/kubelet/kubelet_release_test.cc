// The stand-in kubelet, release: there is no call for it, and it comes late or too early.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const PodSpec kPod{"pod", {}, {{"c", {{kGpu, 1}}}}};
const PodSpec kPlain{"plain", {}, {{"c", {}}}};

using KubeletRelease = KubeletEdges;

class AligningKubelet : public KubeletEdges {
protected:
  AligningKubelet() : KubeletEdges({.topologyHints = true}) {}
};

TEST_F(KubeletRelease, K20_AnEndedPodHoldsUntilTheNextAllocate) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.end("pod");
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(1)) << "a pod without devices frees nothing";
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(AligningKubelet, K20_TopologyHintsFreeAtEachAdmission) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.end("pod");
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  EXPECT_THAT(kubelet_.allocated(kGpu), IsEmpty());
}

TEST_F(KubeletRelease, K20_AForceDeletedPodIsFreeWhileItRuns) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  ASSERT_TRUE(kubelet_.startContainer("pod", "c").started);
  kubelet_.forceDelete("pod");
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_THAT(kubelet_.running("pod"), SizeIs(1));
}

TEST_F(KubeletRelease, K20_FreeingWritesNoCheckpointUntilAFrameComes) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.end("pod");
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "no"}; });
  EXPECT_FALSE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_THAT(kubelet_.allocated(kGpu), IsEmpty());
  EXPECT_TRUE(checkpoint().entries) << "the file still names the pod";
  plugin->show({{"a"}, {"b"}, {"c"}});
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a", "b", "c"}));
  EXPECT_FALSE(checkpoint().entries);
}

}  // namespace
}  // namespace vfiogate::sim
