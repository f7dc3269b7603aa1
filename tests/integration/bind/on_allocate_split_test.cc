// Binding on allocate through the two real programs, on hardware that binds as the kernel does.

#include "sim/sysfs/sim_process.h"
#include "tests/integration/split_case.h"
#include "tests/support/bind_node.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kCards = "vfiogate.dev/cards";
const std::string kAlone = "0000:01:00.0";  // in group 3
const std::string kFirst = "0000:03:01.0";  // in group 4, behind a bridge, with the next
const std::string kSecond = "0000:03:02.0";

class OnAllocateSplit : public SplitCase {
protected:
  ~OnAllocateSplit() noexcept override = default;

  void SetUp() override {
    if (!enterOwnNamespaces()) GTEST_SKIP() << "needs root and /dev/fuse";
    SplitCase::SetUp();
    const char* const source = std::getenv("VFIOGATE_SOURCE");
    std::filesystem::create_directory(node_->directory("hardware"));
    auto started =
        sim::SimProcess::start({.program = builtProgram("sim-sysfs"),
                                .topology = std::string(source == nullptr ? "." : source) +
                                            "/tests/topologies/two-in-group.yaml",
                                .directory = node_->directory("hardware"),
                                .control = node_->directory("hardware.ctl"),
                                .uevents = "off",
                                .nodes = "open"});
    ASSERT_TRUE(started) << started.error();
    sim_ = std::move(started).value();
  }
  void layOut(FakeSysfs& /*hardware*/) override {}
  void TearDown() override {
    SplitCase::TearDown();
    node_.reset();
    sim_.reset();
  }

  /// Without events from the kernel: privd sees what it changed itself, and the rest by rescans.
  void start(const std::string& allow, const std::string& rescan = "3600") {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind("resources:\n  - {name: " + kCards +
                                    ", select: {vendor: \"8086\"}, bind: on-allocate, returnTo: "
                                    "original}\n"))
        << node_->said();
    startAgain(allow, rescan);
  }
  void startAgain(const std::string& allow, const std::string& rescan) {
    std::vector<std::string> words{"--sysfs",
                                   sim_->sysfs(),
                                   "--dev",
                                   sim_->dev(),
                                   "--rescan",
                                   rescan,
                                   "--plugind-rights",
                                   "watch,kubelet,bind",
                                   "--audit-log",
                                   node_->directory("audit.jsonl")};
    if (!allow.empty()) words.insert(words.end(), {"--allow", allow});
    ASSERT_TRUE(node_->startPrivd(words)) << node_->said();
  }
  bool shows(const std::set<std::string>& healthy, const std::set<std::string>& unhealthy = {}) {
    return node_->kubelet.shows(kCards, healthy, unhealthy);
  }
  std::string driverOf(const std::string& address) const {
    std::error_code none;
    return std::filesystem::read_symlink(sim_->sysfs() + "/bus/pci/devices/" + address + "/driver",
                                         none)
        .filename();
  }
  std::string explained(const std::string& address) {
    ChildProcess process(
        {"/usr/bin/setpriv", "--reuid=64532", "--regid=64532", "--clear-groups",
         builtProgram("plugind"), "explain", address, "--listen", node_->plugindSocket()},
        programEnvironment());
    EXPECT_EQ(process.wait(), 0);
    return process.outputWhole();
  }
  int operate(std::vector<std::string> words) {
    words.insert(words.begin(), builtProgram("privd"));
    words.insert(words.end(), {"--socket", node_->privdSocket()});
    ChildProcess process(words, programEnvironment());
    return process.wait();
  }

  std::unique_ptr<sim::SimProcess> sim_;
};

TEST_F(OnAllocateSplit, I1_I7_AnAllocateBindsTheWholeGroupAndItGoesBackAfterTheRelease) {
  start("vendor=8086");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  EXPECT_EQ(driverOf(kFirst), "e1000") << "what is only offered is not bound";
  std::string error;
  const auto granted = node_->kubelet.offer(kCards, {kFirst}, error);
  ASSERT_EQ(error, "") << node_->said();
  ASSERT_EQ(granted.response.devices_size(), 2);
  EXPECT_EQ(granted.response.devices(1).host_path(), "/dev/vfio/4");
  EXPECT_EQ(driverOf(kFirst), "vfio-pci");
  EXPECT_EQ(driverOf(kSecond), "vfio-pci");
  EXPECT_EQ(driverOf(kAlone), "e1000e");
  node_->kubelet.offer(kCards, {kSecond}, error);
  EXPECT_NE(error, "") << "its group is allocated";
  // Nobody recorded the pod: 30 s later the group is nobody's, and privd has it back.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  ASSERT_TRUE(node_->kubelet.await(
      kCards,
      [&](const sim::DeviceTable& devices) {
        return devices.healthy().contains(kFirst) && driverOf(kFirst) == "e1000";
      },
      std::chrono::seconds(90)))
      << node_->said();
  EXPECT_LT(std::chrono::steady_clock::now(), until);
  EXPECT_EQ(driverOf(kSecond), "e1000");
  EXPECT_EQ(BindNode::plain({"audit", "verify", node_->directory("audit.jsonl")}).code, 0);
}

TEST_F(OnAllocateSplit, I6_WhatNoAllowMatchesIsNeitherOfferedNorBound) {
  start("address=" + kAlone);
  ASSERT_TRUE(shows({kAlone}, {kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kFirst}, error);
  EXPECT_NE(error, "");
  EXPECT_EQ(driverOf(kFirst), "e1000");
}

TEST_F(OnAllocateSplit, AnInterfaceThatComesUpTakesItsGroupOutOfOffer) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  EXPECT_EQ(sim_->command("link eth2 up"), "ok\n");
  ASSERT_TRUE(shows({kAlone}, {kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kFirst}, error);
  EXPECT_THAT(error, HasSubstr("guard-network"));
  EXPECT_THAT(error, HasSubstr("interface eth2 is up"));
  EXPECT_EQ(driverOf(kFirst), "e1000");
  EXPECT_TRUE(
      node_->privd->saysAll({"event=not_bindable", "guard=network", "interface eth2 is up"}))
      << node_->said();
  EXPECT_EQ(node_->privd->count("event=not_bindable"), 1U) << "once for a guard";
  EXPECT_THAT(explained(kFirst), HasSubstr("interface eth2 is up"));
  EXPECT_EQ(sim_->command("link eth2 down"), "ok\n");
  EXPECT_TRUE(shows({kAlone, kFirst})) << node_->said();
}

TEST_F(OnAllocateSplit, I4_AnOperatorsExclusionTakesTheFreeAndLeavesTheHeldHealthy) {
  start("vendor=8086");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kFirst}, error);
  ASSERT_EQ(error, "") << node_->said();
  for (const std::string& each : {kAlone, kFirst}) {
    ASSERT_EQ(operate({"hold", each, "--reason", "fan"}), 0);
  }
  ASSERT_TRUE(shows({kFirst}, {kAlone})) << node_->said();
  ASSERT_EQ(operate({"release", kAlone}), 0);
  EXPECT_TRUE(shows({kAlone, kFirst})) << node_->said();
}

// Between the command's look at the record and the kernel's end of its write nobody gets the
// device.
TEST_F(OnAllocateSplit, I1_WhatIsBeingUnboundByHandIsNotAllocated) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  ASSERT_EQ(operate({"bind", kAlone}), 0);
  ASSERT_EQ(sim_->command("hang " + kAlone + " unbind"), "ok\n");
  ChildProcess unbind({builtProgram("privd"), "unbind", kAlone, "--socket", node_->privdSocket()},
                      programEnvironment());
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  std::string error;
  node_->kubelet.offer(kCards, {kAlone}, error);
  EXPECT_THAT(error, HasSubstr("not-recorded")) << node_->said();
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  unbind.wait();
  EXPECT_TRUE(shows({kAlone, kFirst})) << node_->said();
  node_->kubelet.offer(kCards, {kAlone}, error);
  EXPECT_EQ(error, "") << node_->said();
}

// A command that was killed while the kernel is in its write: the write goes on, and whoever comes
// next must not hand out what it takes away.
TEST_F(OnAllocateSplit, I1_AWriteThatOutlivesItsCommandKeepsTheDevice) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  ASSERT_EQ(operate({"bind", kAlone}), 0);
  ASSERT_EQ(sim_->command("hang " + kAlone + " unbind"), "ok\n");
  node_->killPrivd();
  ChildProcess unbind({builtProgram("privd"), "unbind", kAlone, "--socket", node_->privdSocket(),
                       "--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--state-dir",
                       node_->directory("state"), "--audit-log", node_->directory("audit.jsonl")},
                      programEnvironment());
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  unbind.signal(SIGKILL);
  unbind.wait();
  startAgain("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kAlone}, error);
  EXPECT_THAT(error, HasSubstr("not-recorded")) << node_->said();
  // Nor does anybody change it, and who asks is told who has it.
  const Ended other =
      BindNode::plain({"unbind", kAlone, "--socket", node_->privdSocket(), "--sysfs", sim_->sysfs(),
                       "--dev", sim_->dev(), "--state-dir", node_->directory("state")});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.text, AllOf(HasSubstr("a write of one has not come back"),
                                HasSubstr(" privd, uid 0, has " + node_->directory("state") +
                                          "/devices/" + kAlone + " open")));
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  ASSERT_EQ(sim_->command("await-waiting 0"), "ok\n");
  EXPECT_EQ(operate({"unbind", kAlone}), 0) << "what the dead command left is mended";
  EXPECT_EQ(driverOf(kAlone), "e1000e");
}

TEST_F(OnAllocateSplit, I1_NobodyUnbindsALentGroupByHand) {
  start("vendor=8086");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kFirst}, error);
  ASSERT_EQ(error, "") << node_->said();
  EXPECT_EQ(operate({"unbind", kFirst}), 1);
  EXPECT_EQ(driverOf(kFirst), "vfio-pci");
}

}  // namespace
}  // namespace vfiogate::test
