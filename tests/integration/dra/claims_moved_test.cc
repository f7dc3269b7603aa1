// A resource that is moved from the device plugin to claims, by a new configuration.

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

class Moved : public ClaimCase {
protected:
  std::string keys() const override { return serve_; }
  /// As an editor or a ConfigMap does: the new file is whole from the start.
  void configure(const std::string& serve) {
    serve_ = serve;
    const std::string path = node_->directory("posted.yaml");
    std::ofstream(path + ".new") << config();
    std::filesystem::rename(path + ".new", path);
  }
  void startBoth() {
    configure(serve_);
    startPlugind();
    startPrivd({"--plugind-config", node_->directory("posted.yaml")});
  }

  std::string serve_ = "serve: plugin";
};

// A pod whose claim the scheduler made for the resource's name has nothing recorded with the device
// manager, which refuses to start it while the plugin's options ask for PreStartContainer: up to
// 5 min after the plugin's end.
TEST_F(Moved, WhatNobodyHoldsAsksForNoPreStartAnyMore) {
  node_->kubelet.start();
  startBoth();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA, kC})) << node_->said();
  ASSERT_TRUE(node_->kubelet.awaitPreStart(kGpus, true));
  configure("serve: dra");
  EXPECT_TRUE(node_->kubelet.awaitPreStart(kGpus, false)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {}, {kA, kC})) << "all that it had stays for 60 s";
  configure("serve: plugin");
  EXPECT_TRUE(node_->kubelet.awaitPreStart(kGpus, true)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, kC}));
}

TEST_F(Moved, WhatAPodHoldsIsCheckedAtEachStart) {
  node_->kubelet.start();
  startBoth();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA, kC})) << node_->said();
  const auto pod = node_->kubelet.admit(podOf("p1", kGpus));
  ASSERT_TRUE(pod.admitted) << pod.message;
  configure("serve: dra");
  ASSERT_TRUE(node_->plugind->says("event=config_applied")) << node_->said();
  ASSERT_TRUE(node_->kubelet.awaitFrames(kGpus, 2)) << node_->said();
  ASSERT_EQ(node_->kubelet.startContainer("p1", "compute").error, "");
  EXPECT_TRUE(node_->kubelet.awaitPreStart(kGpus, true)) << node_->said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpus), 0U);
}

TEST_F(Moved, SoIsWhatAnEarlierPlugindHadRegistered) {
  node_->kubelet.start();
  startBoth();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA, kC})) << node_->said();
  node_->killPlugind();
  configure("serve: dra");
  startPlugind();
  EXPECT_TRUE(node_->kubelet.awaitPreStart(kGpus, false)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {}));
}

}  // namespace
}  // namespace vfiogate::test
