// Another version of vfiogate takes over (design.md 10, maxSurge 0): the old pod leaves, the new
// one adopts and registers, and back again when the new one is no good. How long the kubelet has no
// device to give is printed.

#include "tests/integration/timelines/timelines.h"

#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

namespace vfiogate::test {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

/// Of one update, with everything on this machine: no image is pulled, no kubelet restarts a
/// container.
constexpr std::chrono::seconds kWindow{10};

class RollingUpdate : public Timelines {
protected:
  /// As the container runtime does.
  void stopPair() {
    const std::size_t ended = kubelet().streamsEnded(kGpu);
    others_ = kubelet().registrations(kOther);
    node_->plugind->signal(SIGTERM);
    node_->privd->signal(SIGTERM);
    EXPECT_EQ(node_->plugind->wait(), 0) << said();
    EXPECT_EQ(node_->privd->wait(), 0) << said();
    ASSERT_TRUE(kubelet().awaitStreamsEnded(kGpu, ended + 1));
    went_ = steady_clock::now();
    EXPECT_EQ(kubelet().nodeStatus().at(kGpu), (sim::NodeCounts{2, 0}));
  }
  /// The pair that starts has everything again when this returns.
  void awaitPair(const char* what) {
    ASSERT_TRUE(shows(kGpu, {kA, kC})) << said();
    const std::chrono::duration<double, std::milli> window = steady_clock::now() - went_;
    EXPECT_LT(window, kWindow);
    ASSERT_TRUE(kubelet().awaitRegistrations(kOther, others_ + 1)) << said();
    std::cout << what << ": allocatable was 0 for " << window.count() << " ms\n";
    EXPECT_EQ(kubelet().nodeStatus().at(kGpu), (sim::NodeCounts{2, 2}));
  }
  /// p1 runs on a throughout; b is nobody's, and c can be had.
  void checkBooks(const std::string& newPod) {
    EXPECT_TRUE(node_->tells("adopted", kA)) << said();
    EXPECT_THAT(offerAdopted(kOther, kB), HasSubstr("not-shown"));
    EXPECT_THAT(offer(kGpu, kA), HasSubstr("still-open"));
    EXPECT_EQ(kubelet().running("p1"), std::set<std::string>{"compute"});
    sim::PodSpec pod = podOf(newPod, kGpu);
    EXPECT_EQ(admit(pod), std::vector{kC});
    EXPECT_EQ(startContainer(newPod), "") << said();
    kubelet().end(newPod);
    kubelet().admit(
        {.uid = "after-" + newPod, .initContainers = {}, .containers = {{"compute", {}}}});
    EXPECT_TRUE(node_->tells("released", kC)) << said();
  }

  void begin() {
    addC();
    start({kA, kC});
    sim::PodSpec pod = podOf("p1", kGpu);
    pod.containers[0].alignTo = std::set<long>{0};
    ASSERT_EQ(admit(pod), std::vector{kA});
    ASSERT_EQ(startContainer("p1"), "") << said();
    hardware().setEnable(kA, 1);
    ASSERT_TRUE(node_->seen()) << said();
  }

  steady_clock::time_point went_;
  std::size_t others_ = 0;  ///< registrations of the other resource before that
};

TEST_F(RollingUpdate, TheNewPairTakesOverAndPodsKeepTheirDevices) {
  begin();
  for (const char* pod : {"p2", "p3"}) {
    stopPair();
    startPrograms();
    awaitPair("old pod out, new pod in");
    checkBooks(pod);
  }
}

// With maxSurge 1 by mistake, or two DaemonSets: the second pair runs already, and waits.
TEST_F(RollingUpdate, APairThatWaitsTakesOverAtOnce) {
  begin();
  SplitNode::Pair second(*node_, "second");
  ASSERT_TRUE(second.privd.says("event=instance_waits")) << second.privd.output();
  stopPair();
  awaitPair("the new pod waited already");
  EXPECT_TRUE(second.plugind.saysAll({"\"event\":\"adopted\"", kA})) << second.plugind.output();
}

// A new version that does not start touches nothing; the old one comes back the same way.
TEST_F(RollingUpdate, AFailedVersionIsRolledBack) {
  begin();
  stopPair();
  ChildProcess failed({builtProgram("plugind"), "--listen", node_->plugindSocket(), "--config",
                       node_->directory("of-the-new-version.yaml")},
                      filteredEnvironment());
  EXPECT_EQ(failed.wait(), 1) << failed.output();
  EXPECT_EQ(kubelet().nodeStatus().at(kGpu), (sim::NodeCounts{2, 0}));
  startPrograms();
  awaitPair("the new version failed, the old one is back");
  checkBooks("p2");
}

// Nor one that starts, adopts, registers, and falls over when it is asked.
TEST_F(RollingUpdate, AVersionThatFallsOverInAllocateIsRolledBack) {
  begin();
  stopPair();
  startPrograms();
  ASSERT_TRUE(shows(kGpu, {kA, kC})) << said();
  ASSERT_TRUE(kubelet().awaitRegistrations(kOther, others_ + 1)) << said();
  others_ = kubelet().registrations(kOther);
  node_->signalPrivd(SIGSTOP);  // the Allocate waits, and its plugind is killed
  const std::size_t ended = kubelet().streamsEnded(kGpu);
  std::string error;
  std::thread kubeletsLoop([&]() { error = offer(kGpu, kC); });
  ASSERT_TRUE(kubelet().awaitFrames(kGpu, 1));
  node_->killPlugind();
  kubeletsLoop.join();
  EXPECT_NE(error, "");
  ASSERT_TRUE(kubelet().awaitStreamsEnded(kGpu, ended + 1));
  node_->signalPrivd(SIGCONT);
  node_->killPrivd();
  went_ = steady_clock::now();
  startPrograms();
  awaitPair("the new version fell over, the old one is back");
  checkBooks("p2");
}

}  // namespace
}  // namespace vfiogate::test
