// Mediated devices through the real programs: nothing shows whether one is open, so the binder
// opens its group, where that is allowed.

#include "tests/integration/bind/sim_split_case.h"

#include <gmock/gmock.h>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

const std::string kVgpus = "vfiogate.dev/vgpu";
const std::string kFirst = "3f5e2c10-0001-4a5b-8c6d-000000000001";  // in group 60
const std::string kSecond = "3f5e2c10-0001-4a5b-8c6d-000000000002";

/// From a force delete until plugind believes it: two lists of the kubelet's, the settling, and as
/// much again for a busy machine.
constexpr std::chrono::seconds kForgotten{90};

class Probing : public SimSplitCase {
protected:
  Probing() : SimSplitCase("vgpu.yaml") {}
  ~Probing() noexcept override = default;

  /// The right to probe alone: mediated devices are never bound.
  void startAll(const std::string& rights = "watch,kubelet,probe") {
    node_->kubelet.start();
    ASSERT_TRUE(
        node_->startPlugind("resources:\n  - {name: " + kVgpus + ", select: {mdev: nvidia-711}}\n"))
        << node_->said();
    ASSERT_TRUE(node_->startPrivd({"--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--rescan", "1",
                                   "--plugind-rights", rights, "--audit-log", auditFile()}))
        << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kVgpus, {kFirst, kSecond})) << node_->said();
  }
  /// A pod's VM has the first one open when the pod is deleted by force, and the kubelet forgets
  /// it.
  void runAndForceDelete() {
    const auto admitted = node_->kubelet.admit(podOf("p1", kVgpus));
    ASSERT_TRUE(admitted.admitted) << admitted.message << node_->said();
    ASSERT_EQ(node_->kubelet.startContainer("p1", "compute").error, "") << node_->said();
    ASSERT_THAT(sim_->command("open-group 60"), HasSubstr("ok"));
    node_->kubelet.forceDelete("p1");
    node_->kubelet.admit({.uid = "p2", .initContainers = {}, .containers = {{"compute", {}}}});
  }
};

// 28, I1, I4: rows 26 and 30 by a probe, with neither refusal nor minute.
TEST_F(Probing, I1_OneThatIsLetGoOpenLingersUntilTheVmEnds) {
  startAll();
  runAndForceDelete();
  ASSERT_TRUE(node_->tells("released-open", kFirst, 1, kForgotten)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kVgpus, {kSecond}, {kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kVgpus, {kFirst}, error);
  EXPECT_THAT(error, HasSubstr("still-open"));
  ASSERT_THAT(sim_->command("close-group 60"), HasSubstr("ok"));
  EXPECT_TRUE(node_->tells("closed", kFirst)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kVgpus, {kFirst, kSecond})) << node_->said();
  EXPECT_EQ(node_->plugind->count("\"reason\":\"unconfirmed\""), 0U) << node_->said();
}

// What an operator has by hand is nobody else's.
TEST_F(Probing, OneThatIsHeldByItsUuidIsNotOffered) {
  startAll();
  const Ended held = run({"hold", kFirst, "--reason", "I have it in a VM of mine"});
  ASSERT_EQ(held.code, 0) << held.text;
  EXPECT_TRUE(node_->kubelet.shows(kVgpus, {kSecond}, {kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kVgpus, {kFirst}, error);
  EXPECT_THAT(error, HasSubstr("operator-excluded"));
  EXPECT_THAT(run({"holds"}).text, HasSubstr(kFirst));
  ASSERT_EQ(run({"release", kFirst}).code, 0);
  EXPECT_TRUE(node_->kubelet.shows(kVgpus, {kFirst, kSecond})) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
