// plugind's configuration changes under the two real programs, and no stream ends.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

const std::string kGpu = "vfiogate.dev/gpu";
const std::string kNic = "vfiogate.dev/nic";
const std::string kA = "0000:01:00.0";
const std::string kB = "0000:02:00.0";

class Reload : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kA});
    hardware.add({.address = kB, .group = 8});
  }

  static std::string gpusBy(const std::string& select) {
    return "resources:\n  - {name: vfiogate.dev/gpu, select: {" + select + "}}\n";
  }

  /// As an editor or a ConfigMap does: the new file is whole from the start.
  void configure(const std::string& text) {
    const std::string path = node_->directory("posted.yaml");
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }

  void start() {
    configure(gpusBy("vendor: \"10de\""));
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(gpusBy("vendor: \"10de\""))) << node_->said();
    ASSERT_TRUE(node_->startPrivd({"--plugind-config", node_->directory("posted.yaml")}))
        << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << node_->said();
  }

  bool says(const std::string& text) { return node_->plugind->says(text); }
};

TEST_F(Reload, ADeviceThatIsNoLongerSelectedIsWithdrawnOnTheSameStream) {
  start();
  configure(gpusBy("address: \"" + kB + "\""));
  ASSERT_TRUE(says("event=config_applied")) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpu, {kB}, {kA})) << node_->said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpu), 0U);
  configure(gpusBy("vendor: \"10de\""));
  EXPECT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << node_->said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpu), 0U);
}

TEST_F(Reload, ANewResourceIsRegisteredBesideTheOneThatStays) {
  start();
  configure(gpusBy("device: \"2684\"") + "  - {name: " + kNic + ", select: {device: \"1572\"}}\n");
  // Before that it would be one of the GPUs, and the kubelet's for another minute.
  ASSERT_TRUE(says("event=config_applied")) << node_->said();
  node_->hardware.add({.address = "0000:03:00.0", .device = 0x1572, .group = 9});
  EXPECT_TRUE(node_->kubelet.shows(kNic, {"0000:03:00.0"})) << node_->said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpu), 0U);
}

// I4, timeline 29.
TEST_F(Reload, ReloadMovesHeld) {
  start();
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kGpu)).admitted);
  const auto held = node_->kubelet.admit(podOf("p2", kGpu));
  ASSERT_TRUE(held.admitted) << held.message;
  const std::string id = held.granted.back().ids.at(0);
  configure("resources:\n  - {name: " + kNic + ", select: {vendor: \"10de\"}}\n");
  ASSERT_TRUE(says("event=config_applied")) << node_->said();
  // Held ones stay where they are held, Healthy, and are shown nowhere else.
  EXPECT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kNic, {})) << node_->said();
}

TEST_F(Reload, ABadFileIsRefusedWithItsReasonAndChangesNothing) {
  start();
  const auto frames = node_->kubelet.frames(kGpu);
  configure("resources:\n  - {name: vfiogate.dev/gpu, selekt: {vendor: \"10de\"}}\n");
  ASSERT_TRUE(says("event=config_refused")) << node_->said();
  EXPECT_THAT(node_->plugind->output(), HasSubstr("unknown key \\\"selekt\\\""));
  EXPECT_EQ(node_->kubelet.frames(kGpu), frames);
  configure(gpusBy("address: \"" + kA + "\""));
  EXPECT_TRUE(node_->kubelet.shows(kGpu, {kA}, {kB})) << "a later good one is taken";
}

TEST_F(Reload, AFileThatGoesAwayChangesNothing) {
  start();
  const auto frames = node_->kubelet.frames(kGpu);
  std::filesystem::remove(node_->directory("posted.yaml"));
  configure(gpusBy("address: \"" + kA + "\""));
  EXPECT_TRUE(node_->kubelet.shows(kGpu, {kA}, {kB})) << node_->said();
  EXPECT_EQ(node_->kubelet.frames(kGpu), frames + 1);
}

}  // namespace
}  // namespace vfiogate::test
