#pragma once
// The node of the tests about CDI specs: two GPUs that may want one, a NIC that does not, and a
// kubelet that compares the spec with the hardware whenever it is shown something.

#include "tests/support/split_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

inline const std::string kGpu = "vfiogate.dev/gpu";
inline const std::string kNic = "vfiogate.dev/nic";
inline const std::string kA = "0000:01:00.0";
inline const std::string kB = "0000:02:00.0";
inline const std::string kC = "0000:03:00.0";

class Cdi : public testing::Test {
protected:
  using Nodes = std::vector<std::string>;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    sim::KubeletOptions options;
    options.told = [this](const std::string& what) { checkRegistration(what); };
    options.heard = [this](const v1beta1::ListAndWatchResponse& frame) { checkFrame(frame); };
    node_.emplace(std::move(options));
    node_->hardware.add({.address = kA, .group = 7});
    node_->hardware.add({.address = kB, .group = 8});
    node_->hardware.add({.address = kC, .vendor = 0x8086, .device = 0x1572, .group = 9});
    node_->addMarker();
  }
  void TearDown() override {
    if (!node_) return;
    EXPECT_EQ(node_->kubelet.crash(), "");
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(faults_, testing::IsEmpty()) << "a spec comes before what it is for";
  }

  static std::string config(const std::string& keys) {
    return "resources:\n"
           "  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, " +
           keys +
           "}\n"
           "  - {name: vfiogate.dev/nic, select: {vendor: \"8086\"}}\n"
           "  - {select: {vendor: \"1b36\"}}\n";
  }
  std::string cdiDirectory() { return node_->directory("cdi"); }
  std::vector<std::string> withSpecs() {
    return {"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir", cdiDirectory()};
  }

  /// From now on every frame with a Healthy GPU is compared with the spec, and every registration.
  void start(const std::string& keys, const std::set<std::string>& gpus = {kA, kB}) {
    watched_ = true;
    startPrograms(keys);
    ASSERT_TRUE(node_->kubelet.shows(kGpu, gpus)) << said();
    ASSERT_TRUE(node_->kubelet.shows(kNic, {kC})) << said();
  }
  void startPrograms(const std::string& keys) {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(config(keys))) << said();
    ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  }

  /// The only spec of the directory; null: there is none.
  nlohmann::json spec() {
    if (!std::filesystem::exists(cdiDirectory())) return {};
    for (const auto& entry : std::filesystem::directory_iterator(cdiDirectory())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("vfiogate-") || !name.ends_with(".json")) continue;
      std::ifstream file(entry.path());
      return nlohmann::json::parse(file);
    }
    return {};
  }
  /// What the runtime would give to a container that has this name.
  Nodes resolve(const std::string& name) {
    Nodes nodes;
    const nlohmann::json file = spec();
    if (file.is_null()) return nodes;
    for (const auto& device : file["devices"]) {
      const std::string kind = file["kind"];
      if (kind + "=" + std::string(device["name"]) != name) continue;
      for (const auto& node : device["containerEdits"]["deviceNodes"])
        nodes.push_back(node["path"]);
    }
    return nodes;
  }
  Nodes resolveGpu(const std::string& address) { return resolve(kGpu + "=" + address); }

  /// The pod's one grant.
  sim::Granted admit(const std::string& pod) {
    const auto admission = node_->kubelet.admit(podOf(pod, kGpu));
    EXPECT_TRUE(admission.admitted) << admission.message << said();
    return admission.granted.empty() ? sim::Granted() : admission.granted.back();
  }
  static Nodes namesOf(const sim::Granted& granted) {
    Nodes names;
    for (const auto& device : granted.response.cdi_devices()) names.push_back(device.name());
    return names;
  }
  static Nodes nodesOf(const sim::Granted& granted) {
    Nodes nodes;
    for (const auto& device : granted.response.devices()) nodes.push_back(device.host_path());
    return nodes;
  }
  std::string startContainer(const std::string& pod) {
    return node_->kubelet.startContainer(pod, "compute").error;
  }

  /// The node goes down with all its pods, and what is below /run is gone.
  void powerOff() {
    node_->kubelet.powerOff();
    node_->killPlugind();
    node_->killPrivd();
    std::filesystem::remove_all(cdiDirectory());
  }
  /// It comes up again, under another boot id; the kubelet still has its checkpoint.
  void reboot(const std::string& keys) {
    std::ofstream(node_->directory("config.yaml")) << config(keys);
    const std::string bootId = node_->directory("boot_id");
    std::ofstream(bootId) << "11111111-2222-3333-4444-555555555555\n";
    node_->kubelet.start();
    node_->plugind.emplace(
        std::vector<std::string>{
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
            "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"", bootId,
            builtProgram("plugind"), "--listen", node_->plugindSocket(), "--config",
            node_->directory("config.yaml")},
        filteredEnvironment());
    ASSERT_TRUE(node_->plugind->says("event=started")) << said();
    ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  }

  std::string said() { return node_->said(); }

  std::optional<SplitNode> node_;
  std::atomic<bool> watched_ = false;
  std::atomic<int> registrationsSeen_ = 0;  ///< of those that were compared

private:
  void fault(const std::string& what) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(what);
  }
  void checkRegistration(const std::string& what) {
    if (!watched_ || !what.starts_with("Register " + kGpu + " ")) return;
    if (spec().is_null()) fault("no spec yet when the kubelet meets: " + what);
    ++registrationsSeen_;
  }
  void checkFrame(const v1beta1::ListAndWatchResponse& frame) {
    if (!watched_) return;
    for (const auto& device : frame.devices()) {
      const bool gpu = device.id() == kA || device.id() == kB;
      if (!gpu || device.health() != "Healthy") continue;
      const Nodes nodes = resolveGpu(device.id());
      const auto link =
          std::filesystem::read_symlink(node_->hardware.directoryOf(device.id()) / "iommu_group");
      const Nodes want{"/dev/vfio/vfio", "/dev/vfio/" + link.filename().string()};
      if (nodes != want) fault(device.id() + " is shown Healthy before its spec is as it is");
    }
  }

  std::mutex mutex_;
  std::vector<std::string> faults_;
};

}  // namespace vfiogate::test
