// `serve` of a resource changes while its devices are held (ledger.md 13).

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

class DraServe : public ClaimCase {
protected:
  std::string keys() const override { return keys_; }

  /// As a ConfigMap does: the new file is whole from the start.
  void post(const std::string& keys) {
    keys_ = keys;
    const std::string path = node_->directory("posted.yaml");
    std::ofstream(path + ".new") << config();
    std::filesystem::rename(path + ".new", path);
  }
  void reload(const std::string& keys) {
    const std::size_t before = node_->plugind->count("event=config_applied");
    post(keys);
    ASSERT_TRUE(node_->plugind->saysAll({"event=config_applied"}, before + 1)) << node_->said();
  }
  void start(const std::string& keys) {
    post(keys);
    node_->kubelet.start();
    startPlugind();
    startPrivd({"--plugind-config", node_->directory("posted.yaml")});
    startNetd();
  }

  std::string keys_ = "serve: plugin";
};

// I1, I4, T37: the pod that has it through the device plugin keeps it, through all of it.
TEST_F(DraServe, I1_I4_FromThePluginToClaimsWhileAPodHoldsOne) {
  start("serve: plugin");
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA, kC})) << node_->said();
  std::string error;
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kGpus, 1)).admitted);
  const std::string held = *node_->kubelet.allocated(kGpus).begin();
  const bool pair = held != kC;
  const std::string free = pair ? kC : kA;
  reload("serve: both");
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  EXPECT_TRUE(devicesUntil([&](const Devices& now) {
    return now.size() == 3 && taintOf(now, nameOf(held)) == "allocated" &&
           taintOf(now, nameOf(free)).empty();
  })) << node_->said();
  const std::string uid = claimFor("c1", "p2", {free});
  ASSERT_TRUE(run(podWith("p2", "c1")).started) << node_->said();
  reload("serve: dra");
  EXPECT_TRUE(node_->kubelet.await(
      kGpus, [&](const auto& devices) { return devices.healthy() == std::set<std::string>{held}; }))
      << "drained: what is held stays, and nothing else is offered\n"
      << node_->said();
  EXPECT_TRUE(
      devicesUntil([&](const Devices& now) { return taintOf(now, nameOf(held)) == "allocated"; }));
  claimFor("c2", "p3", {held});
  EXPECT_THAT(run(podWith("p3", "c2")).error, HasSubstr("device plugin"));
  EXPECT_TRUE(specIsThere(uid));
}

// I1: back again, while a claim has one.
TEST_F(DraServe, I1_FromClaimsToThePluginWhileAClaimHoldsOne) {
  start("serve: dra");
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  ASSERT_TRUE(devicesUntil([](const Devices& now) { return now.size() == 3; })) << node_->said();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  node_->hardware.setEnable(kC, 1);
  reload("serve: plugin");
  ASSERT_TRUE(node_->kubelet.await(kGpus, [](const auto& devices) {
    return devices.healthy() == std::set<std::string>{kA};
  })) << node_->said();
  EXPECT_TRUE(devicesUntil([](const Devices& now) {
    return now.size() == 1 && now.contains(nameOf(kC));
  })) << "T39: it is allocated";
  std::string error;
  node_->kubelet.offer(kGpus, {kC}, error);
  EXPECT_THAT(error, HasSubstr("not-shown"));
  EXPECT_TRUE(specIsThere(uid));
  // The same claim is still prepared, for a kubelet that forgot.
  node_->kubelet.restart();
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  node_->kubelet.loseSandbox("p1");
  const sim::PodStart again = node_->kubelet.startPod("p1");
  EXPECT_TRUE(again.started || node_->kubelet.awaitStarted("p1")) << again.error;
  node_->hardware.setEnable(kC, 0);
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1")) << node_->said();
  EXPECT_FALSE(specIsThere(uid));
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, kC})) << node_->said();
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return now.empty(); })) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
