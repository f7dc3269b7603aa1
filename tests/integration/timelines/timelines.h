#pragma once
// The node of the timelines (ledger.md 17): a and b in one group, each in a resource of its own; c,
// like a, joins in a group of its own where a test needs it.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

inline const std::string kGpu = "vfiogate.dev/gpu";
inline const std::string kOther = "vfiogate.dev/other";
inline const std::string kA = "0000:01:00.0";
inline const std::string kB = "0000:01:00.1";
inline const std::string kC = "0000:02:00.0";

inline constexpr const char* kTimelinesConfig =
    "resources:\n"
    "  - {name: vfiogate.dev/gpu, select: {device: \"2684\"}}\n"
    "  - {name: vfiogate.dev/other, select: {device: \"2685\"}}\n"
    "  - {select: {vendor: \"1b36\"}}\n";

class Timelines : public SplitCase {
protected:
  using Ids = std::set<std::string>;

  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kA, .numaNode = 0});
    hardware.add({.address = kB, .device = 0x2685});
    node_->addMarker();
  }
  void addC() { hardware().add({.address = kC, .group = 8, .numaNode = 1}); }

  /// Everything runs, and the kubelet has seen these in the first resource.
  void start(const Ids& gpus = {kA}) {
    kubelet().start();
    startPrograms();
    ASSERT_TRUE(kubelet().shows(kGpu, gpus)) << said();
  }
  void startPrograms() {
    ASSERT_TRUE(node_->startPlugind(config_)) << said();
    ASSERT_TRUE(node_->startPrivd()) << said();
  }
  void restartPlugind() {
    const std::size_t ended = kubelet().streamsEnded(kGpu);
    node_->killPlugind();
    ASSERT_TRUE(kubelet().awaitStreamsEnded(kGpu, ended + 1));
    ASSERT_TRUE(node_->startPlugind(config_)) << said();
  }

  /// Its devices; none if it was rejected.
  std::vector<std::string> admit(const sim::PodSpec& pod) {
    const auto admission = kubelet().admit(pod);
    EXPECT_TRUE(admission.admitted) << admission.message << said();
    return admission.granted.empty() ? std::vector<std::string>() : admission.granted.back().ids;
  }
  /// Why it was rejected.
  std::string rejected(const sim::PodSpec& pod) {
    const auto admission = kubelet().admit(pod);
    EXPECT_FALSE(admission.admitted) << pod.uid << said();
    return admission.message;
  }
  /// Why it did not start; empty: it runs.
  std::string startContainer(const std::string& pod, const std::string& name = "compute") {
    return kubelet().startContainer(pod, name).error;
  }
  /// The plugin's answer to an Allocate with these ids; empty: granted.
  std::string offer(const std::string& resource, const std::string& id) {
    std::string error;
    kubelet().offer(resource, {id}, error);
    return error;
  }
  /// As offer(), again while the ledger is not adopted yet: the kubelet would try again, too.
  std::string offerAdopted(const std::string& resource, const std::string& id) {
    return offerPast({"not-adopted"}, resource, id);
  }
  /// The same, also until the kubelet has the first list of a plugind that began anew.
  std::string offerShown(const std::string& resource, const std::string& id) {
    return offerPast({"not-adopted", "not-shown"}, resource, id);
  }
  /// As offer(), again while the refusal has one of these reasons.
  std::string offerPast(const std::set<std::string>& reasons, const std::string& resource,
                        const std::string& id) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      std::string error = offer(resource, id);
      const bool passes = std::ranges::any_of(reasons, [&error](const std::string& reason) {
        return error.find(reason) != std::string::npos;
      });
      if (!passes || std::chrono::steady_clock::now() >= until) return error;
    }
  }
  /// A pod that runs on a, whose file is open and was seen to be.
  void runOnA(const std::string& pod) {
    ASSERT_EQ(admit(podOf(pod, kGpu)), std::vector{kA});
    ASSERT_EQ(startContainer(pod), "") << said();
    hardware().setEnable(kA, 1);
    ASSERT_TRUE(node_->seen()) << said();
  }
  /// The first Allocate of a plugind makes a reconcile in the call (ledger.md 6): this is that one,
  /// and it asks for what is not there.
  void adopt() {
    EXPECT_THAT(offer(kGpu, "0000:ff:00.0"), testing::HasSubstr("not-shown"));
    ASSERT_TRUE(node_->plugind->says("ledger-adopted")) << said();
  }
  bool shows(const std::string& resource, const Ids& healthy, const Ids& unhealthy = {}) {
    return kubelet().shows(resource, healthy, unhealthy);
  }

  sim::KubeletSim& kubelet() { return node_->kubelet; }
  FakeSysfs& hardware() { return node_->hardware; }
  std::string said() { return node_->said(); }

  std::string config_ = kTimelinesConfig;
};

}  // namespace vfiogate::test
