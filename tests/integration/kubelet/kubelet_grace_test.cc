// The stand-in kubelet, a resource without its plugin: what the node's status shows, and how long.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace vfiogate::sim {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const PodSpec kPod{"pod", {}, {{"c", {{kGpu, 1}}}}};

/// A clock that the test moves.
class HandClock {
public:
  void pass(std::chrono::milliseconds time) { passed_ = passed_.load() + time.count(); }
  std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(passed_));
  }

private:
  std::atomic<std::int64_t> passed_ = 0;
};

class KubeletGrace : public KubeletEdges {
protected:
  KubeletGrace() : KubeletGrace(std::make_shared<HandClock>()) {}
  explicit KubeletGrace(const std::shared_ptr<HandClock>& clock)
      : KubeletEdges({.grace = minutes(5), .now = [clock]() { return clock->now(); }}),
        clock_(clock) {}

  NodeCounts counts() { return kubelet_.nodeStatus().at(kGpu); }
  /// A plugin of "a" and "b" whose stream has ended.
  std::unique_ptr<TinyPlugin> serveAndEnd() {
    auto plugin = serve(kGpu, {"a", "b"});
    plugin->endStreams();
    EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
    return plugin;
  }

  std::shared_ptr<HandClock> clock_;
};

TEST_F(KubeletGrace, K7_AnEndedStreamKeepsTheCapacityForTheGracePeriod) {
  kubelet_.start();
  const auto plugin = serveAndEnd();
  EXPECT_EQ(counts(), (NodeCounts{2, 0}));
  EXPECT_THAT(kubelet_.admit(kPod).message, HasSubstr("no healthy devices present"));
  clock_->pass(minutes(5));
  EXPECT_EQ(counts(), (NodeCounts{2, 0})) << "more than the period, not as much";
}

TEST_F(KubeletGrace, K7_AfterTheGracePeriodAnExplicitZeroIsLeft) {
  kubelet_.start();
  const auto plugin = serveAndEnd();
  clock_->pass(minutes(5) + std::chrono::milliseconds(1));
  EXPECT_THAT(kubelet_.resources(), SizeIs(1)) << "only the node's status looks at the clock";
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  EXPECT_THAT(kubelet_.resources(), IsEmpty());
  EXPECT_EQ(counts(), (NodeCounts{0, 0})) << "and it stays";
  EXPECT_THAT(checkpoint().registered, IsEmpty());
  EXPECT_EQ(kubelet_.admit(kPod).reason, "OutOf" + kGpu);
}

TEST_F(KubeletGrace, K7_ANewRegistrationRestoresAtItsFirstFrame) {
  kubelet_.start();
  auto plugin = serveAndEnd();
  clock_->pass(minutes(4));
  plugin = std::make_unique<TinyPlugin>(in("next.sock"));
  ASSERT_EQ(askToRegister(deviceDir_, "next.sock", kGpu), "");
  clock_->pass(minutes(4));
  EXPECT_EQ(counts(), (NodeCounts{2, 0})) << "the period has ended, the first frame is missing";
  plugin->show({{"b"}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {"b"}));
  EXPECT_EQ(counts(), (NodeCounts{1, 1}));
}

TEST_F(KubeletGrace, K7_ARemovedResourceComesBackWithAFrame) {
  kubelet_.start();
  auto plugin = serveAndEnd();
  clock_->pass(minutes(6));
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  plugin.reset();
  plugin = serve(kGpu, {"a"});
  EXPECT_EQ(counts(), (NodeCounts{1, 1}));
}

TEST_F(KubeletGrace, K7_ContainersStartAgainUntilTheResourceIsRemoved) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit(kPod).admitted);
  plugin->endStreams();
  ASSERT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
  EXPECT_TRUE(kubelet_.startContainer("pod", "c").started);
  clock_->pass(minutes(6));
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  EXPECT_THAT(kubelet_.restartContainer("pod", "c").error,
              HasSubstr("endpoint not found in cache"));
  plugin.reset();
  plugin = serve(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.restartContainer("pod", "c").started);
}

TEST_F(KubeletGrace, K8_ARestartedKubeletShowsNothingUntilTheFirstFrame) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a", "b"});
  kubelet_.restart();
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  EXPECT_THAT(kubelet_.resources(), SizeIs(1));
  plugin.reset();
  plugin = serve(kGpu, {"a", "b"});
  EXPECT_EQ(counts(), (NodeCounts{2, 2}));
}

TEST_F(KubeletGrace, K8_TheRestartStartsTheClock) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  kubelet_.restart();
  clock_->pass(minutes(5));
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  EXPECT_THAT(kubelet_.resources(), SizeIs(1));
  clock_->pass(minutes(1));
  EXPECT_EQ(counts(), (NodeCounts{0, 0}));
  EXPECT_THAT(kubelet_.resources(), IsEmpty());
}

}  // namespace
}  // namespace vfiogate::sim
