// The kubelet restarts again and again, with pods that run and pods that start in between.
// VFIOGATE_RESTARTS says how often.

#include "tests/integration/faults/fault_books.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/process_size.h"
#include "tests/support/split_node.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <string>

namespace vfiogate::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const std::string kGpu = "vfiogate.dev/gpu";
const std::string kOther = "vfiogate.dev/other";

constexpr const char* kConfig =
    "resources:\n"
    "  - {name: vfiogate.dev/gpu, select: {device: \"2684\"}}\n"
    "  - {name: vfiogate.dev/other, select: {device: \"2685\"}}\n";

constexpr std::size_t kRestarts = 500;
constexpr unsigned kGroups = 16;
/// Of these many a pod's container is started, the devices of the others are only granted.
constexpr unsigned kStarted = 8;
/// From a container's start to the next use of its device: nobody is given what starts (row 9).
constexpr auto kRest = 12s;
constexpr std::size_t kPodsAtOnce = 4;

// What may be added between the end of the warm-up and the last restart, however many there are.
constexpr std::size_t kMoreKib = 2048;
constexpr std::size_t kMoreDescriptors = 4;
// gRPC's two may be between one and the next, and so may those kept spare, in either count.
constexpr std::size_t kMoreThreads = 4;

std::size_t restarts() {
  const char* const text = std::getenv("VFIOGATE_RESTARTS");
  return text == nullptr ? kRestarts : std::stoul(text);
}

std::string address(unsigned group, unsigned function) {
  return std::string("0000:0") + "123456789abcdef0"[group] + ":" + (group == 15 ? "10" : "00") +
         "." + std::to_string(function);
}

class KubeletRestarts : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    node_.emplace();
    std::map<std::string, FaultBooks::Device> devices;
    for (unsigned i = 0; i < kGroups; ++i) {
      node_->hardware.add(
          {.address = address(i, 0), .group = 7 + i, .numaNode = static_cast<int>(i)});
      node_->hardware.add({.address = address(i, 1), .device = 0x2685, .group = 7 + i});
      devices[address(i, 0)] = {kGpu, 7 + i};
      devices[address(i, 1)] = {kOther, 7 + i};
    }
    books_.emplace(devices);
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
    ASSERT_EQ(books_->imbalance(node_->kubelet, kPatience), "") << node_->said();
  }

  void restart() {
    node_->kubelet.restart();
    books_->kubeletRestarted();
    for (const auto& resource : {kGpu, kOther}) {
      ASSERT_TRUE(node_->kubelet.awaitRegistrations(resource, 1)) << node_->said();
      ASSERT_TRUE(node_->kubelet.awaitFrames(resource, 1)) << node_->said();
    }
    ASSERT_EQ(books_->imbalance(node_->kubelet, kPatience), "") << node_->said();
  }

  /// A pod that gets the device of this group.
  void admit(const std::string& uid, unsigned group) {
    sim::PodSpec pod = podOf(uid, kGpu);
    pod.containers[0].alignTo = {static_cast<long>(group)};
    const auto admission = node_->kubelet.admit(pod);
    ASSERT_TRUE(admission.admitted) << admission.message << node_->said();
    ASSERT_EQ(admission.granted.size(), 1U) << uid;
    ASSERT_EQ(admission.granted.back().ids, std::vector{address(group, 0)});
    books_->granted(uid, kGpu, {address(group, 0)});
  }
  void startPod(const std::string& uid, unsigned group) {
    const auto start = node_->kubelet.startContainer(uid, "compute");
    ASSERT_TRUE(start.started) << start.error << node_->said();
    books_->started(uid);
    node_->hardware.setEnable(address(group, 0), 1);
  }
  void end(const std::string& uid, unsigned group) {
    node_->hardware.setEnable(address(group, 0), 0);
    node_->kubelet.end(uid);
    books_->ended(uid);
  }

  /// Grants a device to a new pod, and takes that of the oldest such pod.
  void admitNext() {
    const unsigned group = kStarted + granted_ % (kGroups - kStarted);
    const std::string uid = "granted-" + std::to_string(++granted_);
    ASSERT_NO_FATAL_FAILURE(admit(uid, group));
    waiting_.emplace_back(uid, group);
    if (waiting_.size() <= kPodsAtOnce) return;
    end(waiting_.front().first, waiting_.front().second);
    waiting_.pop_front();
  }
  /// Another pod on a device that has rested, if there is one; the one before has ended.
  void startNext() {
    const unsigned group = 1 + started_ % (kStarted - 1);
    if (Clock::now() < rested_[group]) return;
    if (const auto before = running_.find(group); before != running_.end()) {
      end(before->second, group);
    }
    const std::string uid = "started-" + std::to_string(started_ + 1);
    running_[group] = uid;
    ASSERT_NO_FATAL_FAILURE(admit(uid, group));
    ASSERT_NO_FATAL_FAILURE(startPod(uid, group));
    rested_[group] = Clock::now() + kRest;
    ++started_;
  }

  std::map<std::string, ProcessSize> sizes() {
    return {{"privd-daemon", sizeOf(node_->privd->pid())},
            {"privd-hardware", sizeOf(node_->roleOf("hardware"))},
            {"privd-gate", sizeOf(node_->roleOf("gate"))},
            {"plugind", sizeOf(node_->plugind->pid())}};
  }

  std::optional<SplitNode> node_;
  std::optional<FaultBooks> books_;
  std::deque<std::pair<std::string, unsigned>> waiting_;
  std::map<unsigned, std::string> running_;  ///< by group
  std::map<unsigned, Clock::time_point> rested_;
  unsigned granted_ = 0;
  unsigned started_ = 0;
};

void expectFlat(const std::string& program, const ProcessSize& before, const ProcessSize& after) {
  std::cout << program << ": " << before.str() << "; at the end " << after.str() << std::endl;
  if (kOwnAllocator) {
    EXPECT_LE(after.residentKib, before.residentKib + kMoreKib) << program;
  }
  EXPECT_LE(after.descriptors, before.descriptors + kMoreDescriptors) << program;
  EXPECT_LE(after.threads, before.threads + kMoreThreads) << program;
}

TEST_F(KubeletRestarts, RegisterEachTimeAndLeaveNothingBehind) {
  const std::size_t count = restarts();
  const std::size_t warmUp = std::min<std::size_t>(count / 5, 200);
  ASSERT_NO_FATAL_FAILURE(admit("running", 0));
  ASSERT_NO_FATAL_FAILURE(startPod("running", 0));
  std::map<std::string, ProcessSize> before;
  const auto began = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(restart()) << "restart " << i;
    ASSERT_NO_FATAL_FAILURE(admitNext()) << "restart " << i;
    ASSERT_NO_FATAL_FAILURE(startNext()) << "restart " << i;
    ASSERT_TRUE(node_->kubelet.restartContainer("running", "compute").started) << node_->said();
    if (i + 1 != warmUp) continue;
    before = sizes();
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  std::cout << count << " restarts in " << took.count() << " s, " << granted_
            << " pods were granted a device and " << started_ << " more started\n"
            << "after " << warmUp << " restarts:\n";
  EXPECT_GE(started_, kStarted - 1);
  for (const auto& [name, size] : sizes()) expectFlat(name, before[name], size);
  EXPECT_EQ(node_->plugind->count("event=privd_came"), 1U) << "no process ended";
  EXPECT_EQ(node_->kubelet.crash(), "");
}

}  // namespace
}  // namespace vfiogate::test
