// The stand-in kubelet, container starts: PreStartContainer, and when there is no Allocate.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <future>
#include <string>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const PodSpec kPod{"pod", {}, {{"c", {{kGpu, 1}}}}};

class KubeletStart : public KubeletEdges {
protected:
  std::unique_ptr<TinyPlugin> serveStarter(const std::string& resource,
                                           const std::set<std::string>& ids,
                                           const std::string& socket = "p.sock") {
    return serve(resource, ids, socket, {.preStart = true});
  }
};

TEST_F(KubeletStart, K19_EachStartCallsWithTheRecordedIds) {
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 2}}}}}).admitted);
  EXPECT_TRUE(kubelet_.startContainer("pod", "c").started);
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
  ASSERT_THAT(plugin->preStarts(), SizeIs(2));
  for (const auto& ids : plugin->preStarts()) EXPECT_THAT(ids, UnorderedElementsAre("a", "b"));
}

TEST_F(KubeletStart, K19_InitContainersAndEachResourceAreCalledFor) {
  kubelet_.start();
  const auto gpu = serveStarter(kGpu, {"a"}, "gpu.sock");
  const auto nic = serveStarter(kNic, {"n"}, "nic.sock");
  ASSERT_TRUE(kubelet_.admit({"pod", {{"init", {{kGpu, 1}, {kNic, 1}}}}, {}}).admitted);
  EXPECT_TRUE(kubelet_.startContainer("pod", "init").started);
  EXPECT_THAT(gpu->preStarts(), ElementsAre(ElementsAre("a")));
  EXPECT_THAT(nic->preStarts(), ElementsAre(ElementsAre("n")));
}

TEST_F(KubeletStart, K19_IsNotCalledWithoutTheOption) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  EXPECT_TRUE(kubelet_.startContainer("pod", "c").started);
  EXPECT_THAT(plugin->preStarts(), IsEmpty());
}

TEST_F(KubeletStart, K19_AnErrorFailsTheStartAndTheNextOneCallsAgain) {
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  plugin->onPreStart([](const auto&) { return "not bound yet"; });
  const auto refused = kubelet_.startContainer("pod", "c");
  EXPECT_FALSE(refused.started);
  EXPECT_THAT(refused.error, HasSubstr("code = FailedPrecondition desc = not bound yet"));
  plugin->onPreStart({});
  EXPECT_TRUE(kubelet_.startContainer("pod", "c").started);
  EXPECT_THAT(plugin->preStarts(), SizeIs(2));
}

TEST_F(KubeletStart, K19_APluginHasSoLongAndNoLonger) {
  KubeletSim hasty(directory_.path().string(), {.preStartWithin = std::chrono::milliseconds(200)});
  hasty.start();
  std::promise<void> late;  // before the plugin, which may still be in the call at the end
  TinyPlugin plugin(in("p.sock"));
  plugin.can({.preStart = true});
  plugin.show({{"a"}});
  ASSERT_EQ(askToRegister(deviceDir_, "p.sock", kGpu), "");
  ASSERT_TRUE(hasty.shows(kGpu, {"a"}));
  ASSERT_TRUE(hasty.admit(kPod).admitted);
  plugin.onPreStart([&](const auto&) {
    late.get_future().wait();
    return "";
  });
  const auto start = hasty.startContainer("pod", "c");
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("code = DeadlineExceeded"));
  late.set_value();
}

TEST_F(KubeletStart, K19_StartsOfDifferentPodsRunAtOnce) {
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  ASSERT_TRUE(kubelet_.admit({"two", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  std::barrier both(2);
  plugin->onPreStart([&](const auto&) {
    both.arrive_and_wait();
    return "";
  });
  auto one =
      std::async(std::launch::async, [this]() { return kubelet_.startContainer("one", "c"); });
  EXPECT_TRUE(kubelet_.startContainer("two", "c").started);
  EXPECT_TRUE(one.get().started);
}

TEST_F(KubeletStart, K19_IsSkippedWhileTheOptionsAreUnknown) {
  kubelet_.start();
  auto plugin = serveStarter(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.restart();
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
  EXPECT_THAT(plugin->preStarts(), IsEmpty());
  plugin.reset();
  plugin = serveStarter(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
  EXPECT_THAT(plugin->preStarts(), SizeIs(1));
}

TEST_F(KubeletStart, K19_FailsOnceTheStreamHasEnded) {
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  plugin->endStreams();
  ASSERT_TRUE(kubelet_.shows(kGpu, {}, {"a"}));
  EXPECT_THAT(kubelet_.startContainer("pod", "c").error, HasSubstr("has been stopped"));
}

TEST_F(KubeletStart, K19_WithNothingRecordedItFailsBeforeTheCall) {
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  kubelet_.end("pod");
  ASSERT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 2}}}}}).admitted);
  const auto start = kubelet_.startContainer("pod", "c");
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("no devices found allocated in local cache for pod pod"));
  EXPECT_THAT(plugin->preStarts(), IsEmpty());
}

TEST_F(KubeletStart, AKubeletThatDiesEndsThePreStartUnderWay) {
  std::promise<void> asked;  // before the plugin, which may still be in the call at the end
  std::promise<void> answer;
  kubelet_.start();
  const auto plugin = serveStarter(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  plugin->onPreStart([&](const auto&) {
    asked.set_value();
    answer.get_future().wait();
    return "";
  });
  auto start =
      std::async(std::launch::async, [this]() { return kubelet_.startContainer("pod", "c"); });
  asked.get_future().wait();
  kubelet_.stop();
  EXPECT_EQ(start.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  answer.set_value();
  EXPECT_TRUE(start.get().kubeletDied);
}

}  // namespace
}  // namespace vfiogate::sim
