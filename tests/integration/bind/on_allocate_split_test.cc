// Binding on allocate through the two real programs, on hardware that binds as the kernel does.

#include "tests/integration/bind/sim_split_case.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <thread>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kAlone = "0000:01:00.0";  // in group 3
const std::string kFirst = "0000:03:01.0";  // in group 4, behind a bridge, with the next
const std::string kSecond = "0000:03:02.0";

class OnAllocateSplit : public SimSplitCase {
protected:
  OnAllocateSplit() : SimSplitCase("two-in-group.yaml") {}
  ~OnAllocateSplit() noexcept override = default;

  bool shows(const std::set<std::string>& healthy, const std::set<std::string>& unhealthy = {}) {
    return node_->kubelet.shows(kCards, healthy, unhealthy);
  }
  std::string explained(const std::string& address, const std::string& format = "table") {
    ChildProcess process({"/usr/bin/setpriv", "--reuid=64532", "--regid=64532", "--clear-groups",
                          builtProgram("plugind"), "explain", address, "-o", format, "--listen",
                          node_->plugindSocket()},
                         filteredEnvironment());
    EXPECT_EQ(process.wait(), 0);
    return process.outputWhole();
  }
  /// What a command changed has reached plugind, and nobody has the device's locks. `hardware`:
  /// "ready", it is bound, or "bindable".
  bool knows(const std::string& device, const std::string& hardware) {
    const auto until = std::chrono::steady_clock::now() + sim::kPatience;
    while (std::chrono::steady_clock::now() < until) {
      const auto explanation = nlohmann::json::parse(explained(device, "json"));
      if (explanation.at("device").at("hardware") == hardware) return true;
    }
    return false;
  }
  /// Devices of a group go back one after the other.
  bool awaitDriver(const std::string& device, const std::string& driver) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (driverOf(device) != driver && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return driverOf(device) == driver;
  }
  int operate(const std::vector<std::string>& words) const { return run(words).code; }
  /// The device is back on this driver, and offered.
  bool returned(const std::string& device, const std::string& driver) {
    return node_->kubelet.await(
        kCards,
        [&](const sim::DeviceTable& shown) {
          return shown.healthy().contains(device) && driverOf(device) == driver;
        },
        std::chrono::seconds(120));
  }
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
  ASSERT_TRUE(returned(kFirst, "e1000")) << node_->said();
  EXPECT_TRUE(awaitDriver(kSecond, "e1000")) << node_->said();
  EXPECT_EQ(BindNode::plain({"audit", "verify", auditFile()}).code, 0);
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

TEST_F(OnAllocateSplit, AGroupWhoseRecordCannotBeLockedIsNotOfferedAndSaysWhy) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  const std::filesystem::path file = node_->directory("state/devices/") + kAlone;
  std::filesystem::remove(file);
  std::filesystem::create_symlink("elsewhere", file);
  ASSERT_TRUE(shows({kFirst}, {kAlone})) << node_->said();
  EXPECT_TRUE(node_->privd->saysAll(
      {"event=not_bindable", "guard=member", "the record of allocations cannot be locked"}))
      << node_->said();
  EXPECT_THAT(explained(kAlone), HasSubstr("the record of allocations cannot be locked"));
}

TEST_F(OnAllocateSplit, AGroupWhoseRecordCanBeLockedAgainIsOfferedLongBeforeTheNextRescan) {
  start("vendor=8086", "3600");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  const std::filesystem::path file = node_->directory("state/devices/") + kAlone;
  std::filesystem::remove(file);
  std::filesystem::create_symlink("elsewhere", file);
  // What is held and released is read again.
  ASSERT_EQ(operate({"hold", kAlone, "--reason", "fan"}), 0);
  ASSERT_TRUE(shows({kFirst}, {kAlone})) << node_->said();
  ASSERT_EQ(operate({"release", kAlone}), 0);
  ASSERT_TRUE(node_->privd->saysAll(
      {"event=not_bindable", "guard=member", "the record of allocations cannot be locked"}))
      << node_->said();
  std::filesystem::remove(file);
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
  ASSERT_TRUE(knows(kAlone, "ready")) << node_->said();
  ASSERT_EQ(sim_->command("hang " + kAlone + " unbind"), "ok\n");
  ChildProcess unbind(command({"unbind", kAlone}), filteredEnvironment());
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  std::string error;
  node_->kubelet.offer(kCards, {kAlone}, error);
  EXPECT_THAT(error, HasSubstr("not-recorded")) << node_->said();
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  unbind.wait();
  // It was bound by hand, so the binder has to see that it is not any more.
  ASSERT_TRUE(knows(kAlone, "bindable")) << node_->said();
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
  ChildProcess unbind(command({"unbind", kAlone}), filteredEnvironment());
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  unbind.signal(SIGKILL);
  unbind.wait();
  node_->killPrivd();
  startAgain("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kAlone}, error);
  EXPECT_THAT(error, HasSubstr("not-recorded")) << node_->said();
  // Nor does anybody change it, and who asks is told who has it.
  const Ended other = run({"unbind", kAlone});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.text, AllOf(HasSubstr("a write of one has not come back"),
                                HasSubstr(" privd, uid 0, has " + node_->directory("state") +
                                          "/devices/" + kAlone + " open")));
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  ASSERT_EQ(sim_->command("await-waiting 0"), "ok\n");
  EXPECT_EQ(operate({"unbind", kAlone}), 0) << "what the dead command left is mended";
  EXPECT_EQ(driverOf(kAlone), "e1000e");
}

// plugind and privd die between the record and the reply: the record keeps the group until the next
// plugind, which nobody asked for it, returns it.
TEST_F(OnAllocateSplit, I1_WhatIsRecordedAndWasNeverAnsweredIsReturnedByTheNextPlugind) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  ASSERT_EQ(sim_->command("hang " + kAlone + " bind"), "ok\n");
  std::string error;
  auto offered = std::async(std::launch::async, [this, &error]() {
    return node_->kubelet.offer(kCards, {kAlone}, error);
  });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  node_->killPlugind();
  node_->killPrivd();
  offered.wait();
  EXPECT_NE(error, "");
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  ASSERT_EQ(sim_->command("await-waiting 0"), "ok\n");
  const Ended refused = run({"unbind", kAlone});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr("plugind has allocated its group to "), HasSubstr("as " + kCards)));
  EXPECT_EQ(driverOf(kAlone), "vfio-pci") << "the write took place after all";
  ASSERT_TRUE(startPlugind()) << node_->said();
  startAgain("vendor=8086", "1");
  EXPECT_TRUE(returned(kAlone, "e1000e")) << node_->said();
  EXPECT_EQ(operate({"bind", kAlone}), 0) << "it is free again";
}

// The pod ended while plugind was down: its record holds until a plugind has asked the kubelet.
TEST_F(OnAllocateSplit, I1_ARecordWhosePodEndedWhilePlugindWasDownEndsWithTheNextPlugind) {
  start("vendor=8086", "1");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  const auto admission = node_->kubelet.admit(podOf("p1", kCards));
  ASSERT_TRUE(admission.admitted) << admission.message;
  const std::string has = admission.granted.at(0).ids.at(0);
  const std::string driver = has == kAlone ? "e1000e" : "e1000";
  ASSERT_TRUE(node_->tells("recorded", has)) << node_->said();
  node_->killPlugind();
  node_->kubelet.end("p1");
  // The kubelet protects the pod last admitted.
  node_->kubelet.admit({.uid = "last", .initContainers = {}, .containers = {{"compute", {}}}});
  EXPECT_EQ(operate({"unbind", has}), 1);
  EXPECT_EQ(driverOf(has), "vfio-pci");
  ASSERT_TRUE(startPlugind()) << node_->said();
  EXPECT_TRUE(returned(has, driver)) << node_->said();
  EXPECT_EQ(operate({"bind", has}), 0) << "it is free again";
}

// What somebody else appended refuses one change, is kept, and is told for good.
TEST_F(OnAllocateSplit, I7_AForeignTailOfTheAuditLogRefusesAndIsKept) {
  start("vendor=8086");
  ASSERT_TRUE(shows({kAlone, kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kAlone}, error);
  ASSERT_EQ(error, "") << node_->said();
  std::ifstream log(auditFile());
  std::string record;
  ASSERT_TRUE(std::getline(log, record));
  std::ofstream(auditFile(), std::ios::app) << record << "\n";
  node_->kubelet.offer(kCards, {kFirst}, error);
  EXPECT_NE(error, "");
  EXPECT_TRUE(node_->privd->saysAll({"event=change_refused", "group=4", "reason=record"}));
  EXPECT_EQ(driverOf(kFirst), "e1000");
  EXPECT_EQ(operate({"bind", kFirst}), 0) << "the next one goes on";
  const Ended verified = BindNode::plain({"audit", "verify", auditFile()});
  EXPECT_EQ(verified.code, 1);
  EXPECT_THAT(verified.text, HasSubstr("one of the two was inserted"));
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
