// The gate's directories that somebody clears: it ends, and is well once it is started again.

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

class GatesNode : public ClaimCase {
protected:
  std::string keys() const override { return "serve: both"; }
  std::string driverKeys() const override {
    return "driver: vfio.vfiogate.dev, metadataFiles: true";
  }
};

class GatesDirectory : public GatesNode, public testing::WithParamInterface<const char*> {};

// As `kubeadm reset` does it, and whoever clears the kubelet's directory by hand.
TEST_P(GatesDirectory, ThatIsMadeAnewEndsPrivdWhichIsWellOnceItIsBack) {
  startAll();
  if (node_->privd->count("event=landlock abi=0") != 0) GTEST_SKIP() << "nothing is confined here";
  node_->kubelet.crash();
  const std::string path = node_->directory(GetParam());
  fs::rename(path, node_->directory("was"));
  fs::create_directory(path);
  EXPECT_TRUE(node_->privd->says("event=directory_lost directory=" + path)) << node_->said();
  EXPECT_EQ(node_->privd->wait(), 1) << node_->said();
  startPrivd();
  node_->kubelet.start();
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  EXPECT_TRUE(node_->kubelet.await(
      kGpus, [](const auto& devices) { return devices.healthy().contains(kC); }));
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(node_->kubelet.admit(podWith("p1", "c1")).admitted);
  const sim::PodStart start = startUntilAnswered("p1");
  EXPECT_TRUE(start.started || node_->kubelet.awaitStarted("p1")) << start.error << node_->said();
  EXPECT_TRUE(specIsThere(uid));
}

INSTANTIATE_TEST_SUITE_P(All, GatesDirectory,
                         testing::Values("kubelet/device-plugins", "kubelet/plugins_registry",
                                         "kubelet/plugins/vfio.vfiogate.dev",
                                         "kubelet/plugins/vfio.vfiogate.dev/dra-device-metadata",
                                         "cdi", "state/holds"),
                         [](const auto& row) {
                           std::string name = fs::path(row.param).filename();
                           std::erase_if(name,
                                         [](char c) { return c == '-' || c == '.' || c == '_'; });
                           return name;
                         });

// It is dialled by its path, which Landlock does not keep.
TEST_F(GatesNode, PodResourcesThatIsMadeAnewIsDialledThere) {
  startAll();
  node_->kubelet.crash();
  fs::rename(node_->directory("kubelet/pod-resources"), node_->directory("was"));
  fs::create_directory(node_->directory("kubelet/pod-resources"));
  node_->kubelet.start();
  int tries = 0;
  ASSERT_TRUE(until([&]() {
    sim::PodSpec pod = podOf("p" + std::to_string(++tries), kGpus);
    pod.name = "machine";
    return node_->kubelet.admit(pod).admitted;
  })) << node_->said();
  // The List alone has its name.
  EXPECT_TRUE(until([&]() {
    ChildProcess status(
        {builtProgram("plugind"), "status", "-o", "json", "--listen", node_->plugindSocket()},
        filteredEnvironment());
    return status.wait() == 0 && status.outputWhole().find("machine") != std::string::npos;
  })) << node_->said();
  EXPECT_EQ(node_->privd->count("event=directory_lost"), 0U) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
