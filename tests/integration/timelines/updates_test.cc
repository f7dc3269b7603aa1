// A plugind that is killed between its reply and the kubelet's record, alone and in updates that
// overlap (ledger.md 6, 12).

#include "tests/integration/timelines/timelines.h"

#include <functional>

namespace vfiogate::test {
namespace {

class Updates : public Timelines {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    node_.emplace(sim::KubeletOptions{.answered = [this](const std::string&) {
      if (const auto act = std::exchange(beforeRecord_, nullptr)) act();
    }});
    layOut(node_->hardware);
    addC();
  }

  /// Somebody new registers both and has sent their frames.
  void awaitNew(const std::function<void()>& comes) {
    std::map<std::string, std::size_t> registrations;
    std::map<std::string, std::size_t> frames;
    for (const auto& resource : {kGpu, kOther}) {
      registrations[resource] = kubelet().registrations(resource);
      frames[resource] = kubelet().frames(resource);
    }
    comes();
    for (const auto& resource : {kGpu, kOther}) {
      EXPECT_TRUE(kubelet().awaitRegistrations(resource, registrations[resource] + 1));
      EXPECT_TRUE(kubelet().awaitFrames(resource, frames[resource] + 1));
    }
  }
  bool isHealthy(const std::string& resource, const std::string& id) {
    return kubelet().await(resource,
                           [&](const auto& shown) { return shown.healthy().contains(id); });
  }
  /// In the frame shown now.
  bool lacks(const std::string& resource, const std::string& id) {
    return kubelet().await(
        resource, [&](const auto& shown) { return !shown.healthy().contains(id); },
        std::chrono::milliseconds{0});
  }

  /// Once, at the next good answer: the kubelet records it when this returns.
  std::function<void()> beforeRecord_;
};

// The kubelet has not recorded a yet: the next plugind has it from privd's record of allocations.
TEST_F(Updates, I1_KilledBeforeTheRecordTheNextStillLearnsOfIt) {
  start({kA, kC});
  adopt();
  beforeRecord_ = [this]() {
    awaitNew([this]() { restartPlugind(); });
    EXPECT_TRUE(lacks(kOther, kB)) << "allocated with a, by privd's record";
  };
  sim::PodSpec pod = podOf("p1", kGpu);
  pod.containers[0].alignTo = {0};
  ASSERT_EQ(admit(pod), std::vector{kA});
  EXPECT_NE(rejected(podOf("p2", kOther)), "");
  EXPECT_TRUE(node_->tells("restored", kA)) << said();
  EXPECT_NE(offer(kOther, kB), "");
  EXPECT_EQ(startContainer("p1"), "") << said();
}

// Each update starts its pair while the one before serves, and a third waits behind the second.
TEST_F(Updates, I1_OverlappingUpdatesKilledBeforeTheRecordAllocateNothingTwice) {
  start({kA, kC});
  adopt();
  SplitNode::Pair second(*node_, "second");
  ASSERT_TRUE(second.privd.says("event=instance_waits")) << second.privd.output();
  SplitNode::Pair third(*node_, "third");
  ASSERT_TRUE(third.privd.says("event=instance_waits")) << third.privd.output();
  // Which of those that wait comes next is the kernel's choice.
  const auto serves = [](SplitNode::Pair& pair) {
    return pair.plugind.count("event=stream_opened") != 0;
  };

  sim::PodSpec onA = podOf("p1", kGpu);
  onA.containers[0].alignTo = {0};
  beforeRecord_ = [&]() {
    awaitNew([this]() {
      node_->killPrivd();
      node_->killPlugind();
    });
    EXPECT_TRUE(lacks(kOther, kB)) << "allocated with a, by privd's record";
  };
  ASSERT_EQ(admit(onA), std::vector{kA});
  ASSERT_NE(serves(second), serves(third));
  SplitNode::Pair& next = serves(second) ? second : third;
  SplitNode::Pair& last = serves(second) ? third : second;
  EXPECT_NE(rejected(podOf("p2", kOther)), "") << next.plugind.output();
  ASSERT_TRUE(isHealthy(kGpu, kC)) << next.plugind.output();

  beforeRecord_ = [&]() {
    awaitNew([&next]() {
      next.privd.signal(SIGKILL);
      next.plugind.signal(SIGKILL);
    });
  };
  ASSERT_EQ(admit(podOf("p3", kGpu)), std::vector{kC});
  ASSERT_TRUE(serves(last)) << last.privd.output();
  EXPECT_NE(offer(kOther, kB), "") << last.plugind.output();
  for (const auto& id : {kA, kC}) {
    // By the kubelet's memory or by privd's record; what is offered has no group in its line.
    EXPECT_TRUE(last.plugind.saysAll({"\"group\":", id})) << last.plugind.output();
    EXPECT_TRUE(isHealthy(kGpu, id)) << last.plugind.output();
  }
  EXPECT_EQ(startContainer("p1"), "") << last.plugind.output();
  EXPECT_EQ(startContainer("p3"), "") << last.plugind.output();
}

}  // namespace
}  // namespace vfiogate::test
