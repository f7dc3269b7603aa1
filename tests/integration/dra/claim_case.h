#pragma once
// The node of the tests about claims: privd, plugind and netd dra between the stand-in kubelet and
// the stand-in API server. Two GPUs share group 7, a third is alone in group 8.

#include "sim/kubelet/dra/api_claims.h"
#include "sim/kubelet/dra/remembered_claims.h"
#include "tests/integration/split_case.h"
#include "tests/support/played/api_server.h"
#include "tests/support/until.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::test {

inline constexpr const char* kDriver = "vfio.vfiogate.dev";
inline const std::string kClaimsRead =
    "GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
inline const std::string kClaimsWrite =
    "PUT /apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
inline const std::string kGpus = "vfiogate.dev/gpu";
inline const std::string kA = "0000:01:00.0";
inline const std::string kB = "0000:01:00.1";
inline const std::string kC = "0000:02:00.0";

class ClaimCase : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    api_.emplace(apiOptions());
    claims_ = std::make_shared<sim::ApiClaims>(api_->port(), "node-1", nullptr, kubeletsVersion());
    remembered_ = std::make_shared<sim::RememberedClaims>(claims_);
    sim::KubeletOptions options;
    options.dra.claims = remembered_;
    options.dra.slices = claims_;
    // What is tried again after a minute is tried again after a second or two.
    options.dra.times = sim::DraTimes{}.scaled(0.02);
    options.dra.times.call = std::chrono::seconds(45);
    options.dra.times.stale = std::chrono::seconds(30);
    options.dra.times.healthSecond = std::chrono::seconds(1);
    adjust(options);
    node_.emplace(std::move(options));
    for (const char* name : {"plugins", "plugins_registry"}) {
      std::filesystem::create_directory(node_->directory("kubelet") + "/" + name);
    }
    layOut(node_->hardware);
  }
  void TearDown() override {
    if (!node_) return;
    EXPECT_EQ(node_->kubelet.crash(), "");
    if (HasFailure()) {
      std::cerr << node_->said() << "\n" << api_->journal().dump(1).substr(0, 4000) << "\n";
    }
  }

  virtual void layOut(FakeSysfs& hardware) {
    hardware.add({.address = kA, .group = 7});
    hardware.add({.address = kB, .group = 7});
    hardware.add({.address = kC, .group = 8});
  }
  virtual ApiServerOptions apiOptions() const { return {}; }
  /// Of resource.k8s.io, by which the kubelet asks.
  virtual std::string kubeletsVersion() const { return "v1"; }
  virtual void adjust(sim::KubeletOptions& /*options*/) {}
  virtual std::string keys() const { return "serve: dra"; }
  virtual std::string driverKeys() const { return "driver: vfio.vfiogate.dev"; }
  std::string config() const {
    return "dra: {" + driverKeys() +
           "}\nresources:\n  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, " + keys() +
           "}\n";
  }

  void startPrivd(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--dra-driver",     kDriver,
                                   "--cdi-dir",        node_->directory("cdi"),
                                   "--plugind-rights", "watch,kubelet,cdi"};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_TRUE(node_->startPrivd(words)) << node_->said();
  }
  void startPlugind() { ASSERT_TRUE(node_->startPlugind(config())) << node_->said(); }
  void startNetd() { ASSERT_TRUE(node_->startNetdDra(api_->url())) << node_->said(); }
  /// Everything runs, the kubelet is connected, and the pool is published.
  void startAll(std::size_t published = 3) {
    node_->kubelet.start();
    startPlugind();
    startPrivd();
    startNetd();
    ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
    ASSERT_TRUE(devicesUntil([published](const Devices& devices) {
      return devices.size() == published;
    })) << node_->said();
  }

  using Devices = std::map<std::string, nlohmann::json>;
  /// All devices in the API server's slices, by name.
  Devices devices() {
    Devices found;
    for (const auto& slice : api_->slices()) {
      for (const auto& device : slice.at("spec").value("devices", nlohmann::json::array())) {
        found[device.at("name")] = device;
      }
    }
    return found;
  }
  /// True as soon as they are so.
  bool devicesUntil(const std::function<bool(const Devices&)>& wanted) {
    return until([&]() { return wanted(devices()); });
  }
  /// The device's taint in the slices: its value; empty: none.
  static std::string taintOf(const Devices& devices, const std::string& name) {
    const auto found = devices.find(name);
    if (found == devices.end()) return "absent";
    const auto taints = found->second.value("taints", nlohmann::json::array());
    return taints.empty() ? "" : taints.at(0).value("value", "no value");
  }

  static std::string nameOf(const std::string& address) {
    std::string name = address;
    for (char& each : name) {
      if (each == ':' || each == '.') each = '-';
    }
    return name;
  }

  /// An allocated claim, reserved for the pod of this uid. Returns its uid.
  std::string claimFor(const std::string& claim, const std::string& pod,
                       const std::vector<std::string>& addresses,
                       const nlohmann::json& config = nlohmann::json::array()) {
    std::vector<ClaimDevice> given;
    for (const std::string& address : addresses) given.push_back({.device = nameOf(address)});
    const std::string uid = api_->makeClaim(claim, kDriver, given, config);
    EXPECT_EQ(claims_->reserve("default", claim, pod), "");
    return uid;
  }

  /// The kubelet does not ask the API server for the claim any more: what happens there from now
  /// on meets only netd.
  void remember(const std::string& claim) { ASSERT_TRUE(remembered_->remember("default", claim)); }
  /// How the API server does what netd asks of the claims; an order of its README.
  void claimReads(nlohmann::json order) {
    order["match"] = kClaimsRead;
    api_->control({{"fail", {std::move(order)}}});
  }

  /// A pod of one container that uses the claim.
  static sim::PodSpec podWith(const std::string& uid, const std::string& claim) {
    sim::PodSpec pod{.uid = uid, .initContainers = {}, .containers = {{"compute", {}}}};
    pod.containers[0].claims = {{.name = "gpu"}};
    pod.claims = {{.name = "gpu", .claim = claim}};
    return pod;
  }
  /// One sync of an admitted pod that the driver answers. A kubelet that finds the driver's sockets
  /// made anew, after a reboot or with another privd, registers it again: calls are cut off, in
  /// between it is not registered, and pods are tried again.
  sim::PodStart startUntilAnswered(const std::string& pod) {
    sim::PodStart start;
    EXPECT_TRUE(until([&]() {
      start = node_->kubelet.startPod(pod);
      return !start.error.ends_with("is not registered") &&
             start.error.find("code = Canceled") == std::string::npos &&
             start.error.find("code = Unavailable") == std::string::npos;
    })) << start.error;
    return start;
  }
  sim::PodStart run(const sim::PodSpec& pod) {
    EXPECT_TRUE(node_->kubelet.admit(pod).admitted);
    return node_->kubelet.startPod(pod.uid);
  }

  std::string specFile(const std::string& uid) {
    return node_->directory("cdi") + "/vfiogate-claim-" + uid + ".json";
  }
  nlohmann::json spec(const std::string& uid) {
    std::ifstream file(specFile(uid));
    return nlohmann::json::parse(file, nullptr, false);
  }
  bool specIsThere(const std::string& uid) { return std::filesystem::exists(specFile(uid)); }

  /// The device nodes of the claim's spec, in its order.
  std::vector<std::string> pathsOf(const std::string& uid) {
    std::vector<std::string> paths;
    const auto read = spec(uid);
    if (!read.is_object()) return paths;
    for (const auto& device : read.value("devices", nlohmann::json::array())) {
      for (const auto& node : device.at("containerEdits").at("deviceNodes")) {
        paths.push_back(node.at("path"));
      }
    }
    return paths;
  }
  bool plugindSays(const std::string& text) { return node_->plugind->says(text); }

  std::optional<ApiServer> api_;
  std::shared_ptr<sim::ApiClaims> claims_;
  std::shared_ptr<sim::RememberedClaims> remembered_;
  std::optional<SplitNode> node_;
};

}  // namespace vfiogate::test
