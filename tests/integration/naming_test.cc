// Names of resources from pci.ids, and what another pci.ids does to them, with the real programs.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kA = "0000:01:00.0";
const std::string kB = "0000:02:00.0";
const std::string kOld = "vfiogate.dev/AD102_GEFORCE_RTX_4090";
const std::string kNew = "vfiogate.dev/AD102_GEFORCE_RTX_4090_D";

class NamesByPciIds : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kA});
    hardware.add({.address = kB, .group = 8});
    node_->starters["plugind"] = {"/bin/sh", "-c",
                                  "exec \"$@\" --pci-ids " + node_->directory("pci.ids"), "sh"};
  }

  void call(const std::string& product) {
    std::ofstream(node_->directory("pci.ids"))
        << "10de  NVIDIA Corporation\n\t2684  " << product << "\n";
  }

  bool startPlugind(const std::string& more = "") {
    return node_->startPlugind("naming: pci-ids\n" + more +
                               "resources:\n- select: {vendor: \"10de\"}\n");
  }

  /// A node whose kubelet knows the model by its old name.
  void start() {
    call("AD102 [GeForce RTX 4090]");
    node_->kubelet.start();
    ASSERT_TRUE(startPlugind()) << node_->said();
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kOld, {kA, kB})) << node_->said();
    EXPECT_THAT(node_->plugind->output(), Not(HasSubstr("name_kept")));
  }
};

TEST_F(NamesByPciIds, AnotherPciIdsRenamesNothingThatTheKubeletKnows) {
  start();
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kOld)).admitted);
  node_->killPlugind();
  call("AD102 [GeForce RTX 4090 D]");
  ASSERT_TRUE(startPlugind()) << node_->said();
  EXPECT_TRUE(node_->plugind->says("event=name_kept")) << node_->said();
  EXPECT_THAT(node_->plugind->output(), HasSubstr("pci_ids=AD102_GEFORCE_RTX_4090_D"));
  EXPECT_TRUE(node_->kubelet.shows(kOld, {kA, kB})) << node_->said();
  EXPECT_EQ(node_->kubelet.frames(kNew), 0U);
  const auto second = node_->kubelet.admit(podOf("p2", kOld));
  EXPECT_TRUE(second.admitted) << second.message;
}

TEST_F(NamesByPciIds, WithoutACheckpointThatCanBeReadTheListSaysWhatIsInUse) {
  start();
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kOld)).admitted);
  node_->killPlugind();
  node_->kubelet.corruptCheckpoint();
  const std::filesystem::path list = node_->directory("kubelet/pod-resources/kubelet.sock");
  const std::filesystem::path away = node_->directory("kubelet/pod-resources/away.sock");
  std::filesystem::rename(list, away);
  call("AD102 [GeForce RTX 4090 D]");
  ASSERT_TRUE(startPlugind()) << node_->said();
  ASSERT_TRUE(node_->plugind->says("event=adoption_waits")) << node_->said();
  std::filesystem::rename(away, list);
  EXPECT_TRUE(node_->plugind->says("event=name_kept")) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kOld, {kA, kB})) << node_->said();
  EXPECT_EQ(node_->kubelet.frames(kNew), 0U);
}

TEST_F(NamesByPciIds, AnAliasEndsANameThatWasKept) {
  start();
  node_->killPlugind();
  ASSERT_TRUE(startPlugind("aliases: {\"10de:2684\": " + kNew + "}\n")) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kNew, {kA, kB})) << node_->said();
}

TEST_F(NamesByPciIds, WithoutThatFileModelsHaveTheirIds) {
  node_->kubelet.start();
  ASSERT_TRUE(startPlugind()) << node_->said();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows("vfiogate.dev/2684", {kA, kB})) << node_->said();
  EXPECT_THAT(node_->plugind->output(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace vfiogate::test
