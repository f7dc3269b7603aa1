// The stand-in kubelet, a resource registered twice: whose frames count, and whose end.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using KubeletStreams = KubeletEdges;

class FixedKubeletStreams : public KubeletEdges {
protected:
  FixedKubeletStreams()
      : KubeletEdges({.dialWithin = std::chrono::milliseconds(500), .endsOnlyItsOwn = true}) {}
};

TEST_F(KubeletStreams, K9_FramesOfTheOldStreamStillCount) {
  kubelet_.start();
  const auto first = serve(kGpu, {"a"}, "first.sock");
  const auto second = serve(kGpu, {"a", "b"}, "second.sock");
  first->show({{"old"}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {"old"}));
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_THAT(second->allocations(), SizeIs(1)) << "but the new plugin is asked";
}

TEST_F(KubeletStreams, K9_TheEndOfTheOldStreamDisconnectsTheNewPlugin) {
  kubelet_.start();
  const auto first = serve(kGpu, {"a"}, "first.sock");
  const auto second = serve(kGpu, {"a", "b"}, "second.sock");
  first->endStreams();
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
  EXPECT_TRUE(second->awaitCancelled(1)) << "the kubelet hangs up on whoever is current";
}

TEST_F(KubeletStreams, K9_TheEndOfTheNewStreamLeavesTheOldOneOpenAndItsFramesCount) {
  kubelet_.start();
  const auto first = serve(kGpu, {"a"}, "first.sock");
  const auto second = serve(kGpu, {"a", "b"}, "second.sock");
  second->endStreams();
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
  first->show({{"a"}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a"}));
  EXPECT_THAT(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).message,
              HasSubstr("has been stopped"));
}

TEST_F(FixedKubeletStreams, K9_TheEndOfTheOldStreamIsItsOwnAffair) {
  kubelet_.start();
  const auto first = serve(kGpu, {"a"}, "first.sock");
  const auto second = serve(kGpu, {"a", "b"}, "second.sock");
  first->endStreams();
  ASSERT_TRUE(kubelet_.awaitStreamsEnded(kGpu, 1));
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a", "b"}));
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  second->endStreams();
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
}

TEST_F(KubeletStreams, K10_AFailedRegisterLeavesThePluginToServe) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_NE(askToRegister(deviceDir_, "nobody.sock", kGpu), "");
  plugin->show({{"a"}, {"b"}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a", "b"}));
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletStreams, K10_AfterAFailedRegisterTheEndOfTheStreamIsNotNoticed) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a"});
  EXPECT_NE(askToRegister(deviceDir_, "nobody.sock", kGpu), "");
  plugin.reset();
  ASSERT_TRUE(kubelet_.awaitStreamsEnded(kGpu, 1));
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a"})) << "still healthy";
  EXPECT_THAT(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).message,
              HasSubstr("code = Unavailable"));
}

TEST_F(KubeletStreams, K10_FailedOptionsTakeTheTableEntryToo) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  const TinyPlugin silent(in("silent.sock"), false);
  EXPECT_THAT(askToRegister(deviceDir_, "silent.sock", kGpu), HasSubstr("no options"));
  plugin->endStreams();
  ASSERT_TRUE(kubelet_.awaitStreamsEnded(kGpu, 1));
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a"}));
}

}  // namespace
}  // namespace vfiogate::sim
