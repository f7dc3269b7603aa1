// privd's processes side by side, each started by itself as in its container: what each one's
// absence means for the others and for plugind, and that it is as before when it is back.

#include "tests/integration/bind/roles_apart_case.h"

#include <gmock/gmock.h>

#include <csignal>
#include <future>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(RolesApart, WithoutTheGateNothingNewIsRegisteredAndPlugindSaysSo) {
  startRole("hardware");
  startRole("binder");
  EXPECT_TRUE(saysWhatIsMissing("hardware", "gate", 1)) << said();
  EXPECT_THAT(status(), AllOf(HasSubstr("privd-gate"), HasSubstr("allocations off"),
                              Not(HasSubstr("privd-hardware")), Not(HasSubstr("privd-binder"))));
  EXPECT_EQ(node_->kubelet.registrations(kCards), 0U);
  startRole("gate");
  ASSERT_TRUE(shows({kAlone, kFirst})) << said();
  EXPECT_EQ(lastRefusal(kAlone), "") << said();

  killRole("gate");
  EXPECT_TRUE(saysWhatIsMissing("hardware", "gate", 2)) << said();
  EXPECT_TRUE(node_->kubelet.devices(kCards).healthy().contains(kFirst)) << "what was shown stands";
  EXPECT_THAT(refusal(kFirst), HasSubstr("privd is away"));
  startRole("gate");
  EXPECT_EQ(lastRefusal(kFirst), "") << said();
}

TEST_F(RolesApart, WithoutTheHardwareProcessNothingNewIsAllocatedAndPlugindSaysSo) {
  startRole("gate");
  startRole("binder");
  EXPECT_TRUE(saysWhatIsMissing("gate", "hardware", 1)) << said();
  EXPECT_THAT(status(), AllOf(HasSubstr("privd-hardware"), HasSubstr("allocations off"),
                              Not(HasSubstr("privd-gate")), Not(HasSubstr("privd-binder"))));
  EXPECT_EQ(node_->kubelet.registrations(kCards), 0U);
  startRole("hardware");
  ASSERT_TRUE(shows({kAlone, kFirst})) << said();

  killRole("hardware");
  EXPECT_TRUE(saysWhatIsMissing("gate", "hardware", 2)) << said();
  EXPECT_THAT(refusal(kAlone), HasSubstr("privd is away"));
  EXPECT_EQ(driverOf(kAlone), "e1000e") << "nor is it bound";
  startRole("hardware");
  EXPECT_EQ(lastRefusal(kAlone), "") << said();
  EXPECT_EQ(driverOf(kAlone), "vfio-pci");
}

// Its socket stays open: nothing but the answer that does not come shows it.
TEST_F(RolesApart, I3_AHardwareProcessThatIsStoppedIsAwayUntilItGoesOn) {
  startRoles();
  roles_.at("hardware")->signal(SIGSTOP);
  EXPECT_THAT(refusal(kFirst), HasSubstr("timed-out"));
  EXPECT_TRUE(node_->plugind->saysAll({"event=privd_went", "privd-hardware does not answer"}))
      << said();
  EXPECT_TRUE(saysWhatIsMissing("gate", "hardware", 1)) << said();
  EXPECT_THAT(refusal(kFirst), HasSubstr("privd is away"));
  roles_.at("hardware")->signal(SIGCONT);
  EXPECT_EQ(lastRefusal(kFirst), "") << said();
}

TEST_F(RolesApart, WithoutTheBinderWhatIsBoundIsAllocatedAndTheRestWaitsWithItsReason) {
  const Ended bound = run({"bind", kAlone, "--allow", "vendor=8086"});
  ASSERT_EQ(bound.code, 0) << bound.text;
  startRole("gate");
  startRole("hardware");
  ASSERT_TRUE(shows({kAlone})) << said();
  EXPECT_TRUE(node_->plugind->saysAll({"event=binding_denied", "privd-binder is away",
                                       "what is not on a VFIO driver is not offered"}))
      << said();
  EXPECT_THAT(status(), AllOf(HasSubstr("privd-binder away"), HasSubstr("allocations on")));
  EXPECT_THAT(plugindCommand({"explain", kFirst}), HasSubstr("privd-binder"));
  EXPECT_EQ(refusal(kAlone), "") << said();
  EXPECT_NE(refusal(kFirst), "") << said();
  startRole("binder");
  ASSERT_TRUE(shows({kFirst})) << said();
  EXPECT_EQ(lastRefusal(kFirst), "") << said();
  EXPECT_EQ(driverOf(kFirst), "vfio-pci");
}

// Another hardware process has another epoch, and its generations begin anew.
TEST_F(RolesApart, AHardwareProcessWithANewEpochIsFollowedWithoutAFlap) {
  startRoles();
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kCards)).admitted) << said();
  for (int i = 0; i < 3; ++i) {
    const std::size_t frames = node_->kubelet.frames(kCards);
    const std::size_t came = node_->plugind->count("event=privd_came");
    killRole("hardware");
    startRole("hardware");
    ASSERT_TRUE(node_->plugind->saysAll({"event=privd_came"}, came + 1)) << said();
    EXPECT_EQ(node_->kubelet.frames(kCards), frames) << said();
  }
  // It is watched again.
  ASSERT_EQ(sim_->command("unplug " + kAlone), "ok\n");
  EXPECT_TRUE(node_->kubelet.await(kCards, [](const sim::DeviceTable& shown) {
    return !shown.healthy().contains(kAlone);
  })) << said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kCards), 0U) << said();
}

TEST_F(RolesApart, AGateThatIsRestartedWhileItsSocketsAreServedChangesNothingForTheKubelet) {
  startRoles();
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kCards)).admitted) << said();
  const std::string held =
      node_->kubelet.devices(kCards).healthy().contains(kAlone) && driverOf(kAlone) == "vfio-pci"
          ? kAlone
          : kFirst;
  const std::string other = held == kAlone ? kFirst : kAlone;
  const std::size_t registrations = node_->kubelet.registrations(kCards);
  for (int i = 0; i < 3; ++i) {
    const std::size_t came = node_->plugind->count("event=privd_came");
    killRole("gate");
    EXPECT_EQ(driverOf(held), "vfio-pci");
    startRole("gate");
    ASSERT_TRUE(node_->plugind->saysAll({"event=privd_came"}, came + 1)) << said();
  }
  EXPECT_EQ(lastRefusal(other), "") << said();
  EXPECT_EQ(driverOf(held), "vfio-pci");
  EXPECT_EQ(node_->kubelet.streamsEnded(kCards), 0U) << said();
  EXPECT_EQ(node_->kubelet.registrations(kCards), registrations) << said();
  // The record outlived it: nobody unbinds what the pod has.
  const Ended refused = run({"unbind", held});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text, HasSubstr("allocated"));
}

TEST_F(RolesApart, I3_ABinderKilledAmidAChangeRefusesThatPodAndTheNextOneServes) {
  startRoles();
  ASSERT_EQ(sim_->command("hang " + kAlone + " bind"), "ok\n");
  auto refused = std::async(std::launch::async, [this] { return refusal(kAlone); });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  const std::size_t came = node_->plugind->count("event=privd_came");
  killRole("binder");
  EXPECT_NE(refused.get(), "") << said();
  startRole("binder");
  // The write that is still under way has the device's lock.
  EXPECT_NE(refusal(kAlone), "") << said();
  EXPECT_EQ(lastRefusal(kFirst), "") << "others are served meanwhile" << said();
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  ASSERT_EQ(sim_->command("await-waiting 0"), "ok\n");
  EXPECT_EQ(lastRefusal(kAlone), "") << said();
  EXPECT_EQ(driverOf(kAlone), "vfio-pci");
  EXPECT_EQ(node_->plugind->count("event=privd_came"), came) << "the session is not the binder's";
  EXPECT_EQ(BindNode::plain({"audit", "verify", auditFile()}).code, 0);
}

TEST_F(RolesApart, AHardwareProcessOfAnotherUserIsRefusedAndTheRightOneServed) {
  startRole("gate");
  ChildProcess stranger(roleCommand("hardware", 64530), filteredEnvironment());
  EXPECT_TRUE(node_->plugind->saysAll({"event=peer_refused", "64530"})) << said();
  EXPECT_TRUE(stranger.says("event=peer_gone")) << stranger.output();
  EXPECT_TRUE(saysWhatIsMissing("gate", "hardware", 1)) << said();
  EXPECT_EQ(node_->kubelet.registrations(kCards), 0U);
  startRole("hardware");
  startRole("binder");
  EXPECT_TRUE(shows({kAlone, kFirst})) << said();
}

TEST_F(RolesApart, ASecondHardwareProcessIsSentAwayAndTheFirstGoesOn) {
  startRoles();
  const std::size_t frames = node_->kubelet.frames(kCards);
  ChildProcess second(roleCommand("hardware", 64531), filteredEnvironment());
  EXPECT_TRUE(second.says("event=peer_gone")) << second.output();
  EXPECT_EQ(node_->plugind->count("event=privd_went"), 0U) << said();
  EXPECT_EQ(node_->kubelet.frames(kCards), frames);
  EXPECT_EQ(refusal(kAlone), "") << said();
}

/// Why `privd serve` does not start: its exit code, and what it says.
class ServeRefuses : public SplitCase {
protected:
  void layOut(FakeSysfs& /*hardware*/) override {}
  Ended serve(std::vector<std::string> starter, const std::vector<std::string>& more = {}) const {
    const std::vector<std::string> words = node_->command(
        "privd-daemon", {"--plugind", node_->plugindSocket(), "--state-dir",
                         node_->directory("state"), "--kubelet-dir", node_->directory("kubelet"),
                         "--sysfs", node_->hardware.sysfs(), "--dev", node_->hardware.dev()});
    starter.insert(starter.end(), words.begin(), words.end());
    starter.insert(starter.end(), more.begin(), more.end());
    ChildProcess process(starter, filteredEnvironment());
    const int code = process.wait();
    return {code, process.outputWhole()};
  }
};

TEST_F(ServeRefuses, AHardwareProcessThatWouldBeRoot) {
  const Ended ended = serve({}, {"--hardware-uid", "0"});
  EXPECT_EQ(ended.code, 2) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("privd-hardware must not run as root"));
  EXPECT_THAT(ended.text, Not(HasSubstr("event=")));
}

TEST_F(ServeRefuses, WhoIsNotRootAndSaysHowToRunTheRolesSideBySide) {
  const Ended ended = serve({"/usr/bin/setpriv", "--reuid=64531", "--clear-groups"});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr("must be started as root"), HasSubstr("privd-hardware"),
                                HasSubstr("privd-gate"), HasSubstr("side by side")));
}

TEST_F(ServeRefuses, ARootThatMayNotChangeUsersAndSaysHowToRunTheRolesSideBySide) {
  const Ended ended = serve(
      {"/usr/bin/setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid", "--"});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr("privd-hardware cannot become uid 64531"),
                                HasSubstr("privd-gate"), HasSubstr("side by side")));
  EXPECT_THAT(ended.text, Not(HasSubstr("event=started role=daemon")));
}

}  // namespace
}  // namespace vfiogate::test
