// The life of a registration through the real programs (docs/registration.md): when it begins, what
// does not hold it up, and how an operator tells on whose side it failed. The state machine itself
// is in tests/unit/plugind/registration_test.cc.

#include "tests/integration/timelines/timelines.h"

#include <filesystem>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

class RegistrationLife : public Timelines {
protected:
  std::string metrics() {
    ChildProcess asked({builtProgram("plugind"), "--listen", node_->plugindSocket(), "status", "-o",
                        "metrics", "--timeout", "30000"},
                       filteredEnvironment());
    return asked.outputWhole();
  }
  static std::string counted(const std::string& turn) {
    return "vfiogate_registrations_total{resource=\"" + kGpu + "\",turn=\"" + turn + "\"} ";
  }
};

// ledger.md 6, step 1.
TEST_F(RegistrationLife, NothingRegistersBeforeTheKubeletsMemoryWasReadOnce) {
  kubelet().start();
  kubelet().stop();
  kubelet().corruptCheckpoint();
  kubelet().start();
  const std::filesystem::path list = node_->directory("kubelet/pod-resources/kubelet.sock");
  const std::filesystem::path away = node_->directory("kubelet/pod-resources/away.sock");
  std::filesystem::rename(list, away);
  startPrograms();
  ASSERT_TRUE(node_->plugind->saysAll({"event=adoption_waits"}, 2)) << said();
  EXPECT_EQ(kubelet().registrations(kGpu), 0U);
  EXPECT_EQ(node_->plugind->count("event=resource_started"), 0U);
  std::filesystem::rename(away, list);
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
}

TEST_F(RegistrationLife, ARefusalIsTheKubeletsSide) {
  start();
  kubelet().behave(sim::Manner::kRefuses);
  kubelet().dropStream(kGpu);
  ASSERT_TRUE(node_->plugind->saysAll(
      {"event=registration_lost", "resource=" + kGpu, "turn=stream-ended", "side=kubelet"}))
      << said();
  ASSERT_TRUE(node_->plugind->saysAll(
      {"event=register_failed", "resource=" + kGpu, "turn=refused", "side=kubelet", "not today"}))
      << said();
  kubelet().behave(sim::Manner::kRegisters);
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(metrics(), HasSubstr(counted("stream-ended") + "1\n"));
}

TEST_F(RegistrationLife, AKubeletThatIsAwayIsItsOwnSide) {
  start();
  kubelet().stop();
  ASSERT_TRUE(
      node_->plugind->saysAll({"event=register_failed", "resource=" + kGpu, "turn=unreachable",
                               "side=kubelet", "the kubelet is not there yet"}))
      << said();
  kubelet().start();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(metrics(), HasSubstr(counted("taken") + "2\n"));
}

TEST_F(RegistrationLife, WithoutPrivdItIsOurSide) {
  start();
  node_->killPrivd();
  kubelet().dropStream(kGpu);
  ASSERT_TRUE(node_->plugind->saysAll(
      {"event=register_failed", "resource=" + kGpu, "turn=no-socket", "side=vfiogate"}))
      << said();
  ASSERT_TRUE(node_->startPrivd()) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
}

// Other resources, frames and calls go on.
TEST_F(RegistrationLife, AKubeletThatAcceptsAndNeverAnswersHoldsNothingUp) {
  start();
  ASSERT_TRUE(shows(kOther, {kB})) << said();  // its stream is there
  kubelet().behave(sim::Manner::kSilent);
  kubelet().dropStream(kOther);
  ASSERT_TRUE(kubelet().awaitRegistrations(kOther, 2)) << said();
  addC();
  EXPECT_TRUE(shows(kGpu, {kA, kC})) << said();
  EXPECT_EQ(offer(kGpu, kC), "");
  EXPECT_THAT(metrics(), HasSubstr("vfiogate_resource_registered"));
  ASSERT_TRUE(node_->plugind->saysAll(
      {"event=register_failed", "resource=" + kOther, "turn=unreachable", "side=kubelet"}))
      << said();
  kubelet().behave(sim::Manner::kRegisters);
  EXPECT_TRUE(shows(kOther, {kB})) << said();
}

}  // namespace
}  // namespace vfiogate::test
