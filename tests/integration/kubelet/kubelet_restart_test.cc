// The stand-in kubelet, restarts and reboots: which pods pass again, and that no plugin is asked.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const PodSpec kPod{"pod", {}, {{"c", {{kGpu, 1}}}}};
const PodSpec kOther{"other", {}, {{"c", {{kGpu, 1}}}}};

class KubeletRestart : public KubeletEdges {
protected:
  /// The pod has "a" and its container runs.
  void startWithPod() {
    kubelet_.start();
    plugin_ = serve(kGpu, {"a"});
    ASSERT_TRUE(kubelet_.admit(kPod).admitted);
    ASSERT_TRUE(kubelet_.startContainer("pod", "c").started);
  }
  /// The plugin again, in a new process, with healthy `ids`.
  void serveAgain(const std::set<std::string>& ids) {
    plugin_.reset();
    plugin_ = serve(kGpu, ids);
  }

  std::unique_ptr<TinyPlugin> plugin_;
};

TEST_F(KubeletRestart, K12_AContainerRestartDoesNotAllocate) {
  startWithPod();
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
  EXPECT_THAT(plugin_->allocations(), SizeIs(1));
}

TEST_F(KubeletRestart, K12_AKubeletRestartDoesNotAllocate) {
  startWithPod();
  kubelet_.restart({.sourcesReady = false});
  serveAgain({"a"});
  EXPECT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.sourcesReady();
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
  EXPECT_THAT(plugin_->allocations(), IsEmpty());
}

TEST_F(KubeletRestart, K12_ARebootWithTheSameUidDoesNotAllocate) {
  startWithPod();
  kubelet_.powerOff();
  EXPECT_THAT(kubelet_.running("pod"), IsEmpty());
  kubelet_.start({.sourcesReady = false});
  serveAgain({"a"});
  EXPECT_TRUE(kubelet_.admit(kPod).admitted);
  EXPECT_TRUE(kubelet_.startContainer("pod", "c").started);
  EXPECT_THAT(plugin_->allocations(), IsEmpty());
}

TEST_F(KubeletRestart, K12_WithoutTheCheckpointAStartAllocatesAfterAll) {
  startWithPod();
  kubelet_.stop();
  kubelet_.loseCheckpoint();
  kubelet_.start({.sourcesReady = false});
  serveAgain({"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted) << "it runs";
  EXPECT_THAT(plugin_->allocations(), IsEmpty());
  kubelet_.sourcesReady();
  const auto start = kubelet_.restartContainer("pod", "c");
  EXPECT_TRUE(start.started) << start.error;
  EXPECT_THAT(start.granted, SizeIs(1));
}

TEST_F(KubeletRestart, K13_AContainerThatDoesNotRunNeedsHealthyDevices) {
  startWithPod();
  kubelet_.stopContainer("pod", "c");
  kubelet_.restart({.sourcesReady = false});
  const auto admission = kubelet_.admit(kPod);
  EXPECT_FALSE(admission.admitted);
  EXPECT_THAT(admission.message, HasSubstr("no healthy devices present"));
}

TEST_F(KubeletRestart, K13_ACompletedInitContainerFailsItsPod) {
  kubelet_.start();
  plugin_ = serve(kGpu, {"a"});
  const PodSpec pod{"pod", {{"init", {{kGpu, 1}}}}, {{"app", {}}}};
  ASSERT_TRUE(kubelet_.admit(pod).admitted);
  ASSERT_TRUE(kubelet_.startContainer("pod", "app").started);
  kubelet_.restart({.sourcesReady = false});
  EXPECT_FALSE(kubelet_.admit(pod).admitted);
}

TEST_F(KubeletRestart, K13_ItsRecordedDevicesMustBeHealthy) {
  startWithPod();
  kubelet_.powerOff();
  kubelet_.start({.sourcesReady = false});
  serveAgain({"b"});
  EXPECT_THAT(kubelet_.admit(kPod).message,
              HasSubstr("previously allocated devices are no longer healthy"));
}

TEST_F(KubeletRestart, K13_ARunningContainerIsExempt) {
  startWithPod();
  kubelet_.restart({.sourcesReady = false});
  EXPECT_TRUE(kubelet_.admit(kPod).admitted);
}

TEST_F(KubeletRestart, K13_NobodyIsExemptOnceTheSourcesAreReady) {
  startWithPod();
  kubelet_.restart({.sourcesReady = false});
  kubelet_.sourcesReady();
  EXPECT_FALSE(kubelet_.admit(kPod).admitted);
}

TEST_F(KubeletRestart, K20_NothingIsFreedWhileSourcesAreNotReady) {
  startWithPod();
  kubelet_.end("pod");
  kubelet_.restart({.sourcesReady = false});
  serveAgain({"a"});
  EXPECT_FALSE(kubelet_.admit(kOther).admitted);
  kubelet_.sourcesReady();
  EXPECT_TRUE(kubelet_.admit({"third", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletRestart, K20_PodsNotAddedAgainAreGoneOnceTheSourcesAreReady) {
  startWithPod();
  kubelet_.restart({.sourcesReady = false});
  serveAgain({"a"});
  kubelet_.sourcesReady();
  EXPECT_TRUE(kubelet_.admit(kOther).admitted);
  EXPECT_THAT(kubelet_.running("pod"), SizeIs(1)) << "its container still runs";
}

}  // namespace
}  // namespace vfiogate::sim
