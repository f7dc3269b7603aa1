#pragma once
// The fixture of tests with privd's processes side by side, each started by itself as in its
// container.

#include "tests/integration/bind/sim_split_case.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {

inline const std::string kAlone = "0000:01:00.0";  // in group 3
inline const std::string kFirst = "0000:03:01.0";  // in group 4, with another

class RolesApart : public SimSplitCase {
protected:
  /// Of plugind's configuration: further keys of its resource, and further lines.
  explicit RolesApart(std::string more = "", std::string settings = "")
      : SimSplitCase("two-in-group.yaml"), more_(std::move(more)), settings_(std::move(settings)) {}
  ~RolesApart() noexcept override = default;

  void SetUp() override {
    SimSplitCase::SetUp();
    if (!node_ || IsSkipped()) return;
    node_->kubelet.start();
    ASSERT_TRUE(startPlugind(more_, settings_)) << node_->said();
  }
  void TearDown() override {
    roles_.clear();
    SimSplitCase::TearDown();
  }

  std::vector<std::string> roleCommand(const std::string& role, uid_t hardwareUid = 64531) const {
    auto words = node_->roleCommand(role, sim_->sysfs(), sim_->dev(), hardwareUid);
    if (role == "binder") words.insert(words.end(), {"--allow", "vendor=8086"});
    return words;
  }
  void startRole(const std::string& role) {
    roles_[role] = std::make_unique<ChildProcess>(roleCommand(role), filteredEnvironment());
    ASSERT_TRUE(roles_[role]->says("event=plugind_connected")) << said();
  }
  void startRoles() {
    for (const char* role : {"gate", "hardware", "binder"}) startRole(role);
    ASSERT_TRUE(shows({kAlone, kFirst})) << said();
  }
  void killRole(const std::string& role) { roles_.erase(role); }

  std::string said() {
    std::string all = node_->said();
    for (auto& [role, process] : roles_) all += process->output();
    return all;
  }
  std::string plugindCommand(const std::vector<std::string>& words) const {
    std::vector<std::string> command{"/usr/bin/setpriv", "--reuid=64532", "--regid=64532",
                                     "--clear-groups", builtProgram("plugind")};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--listen", node_->plugindSocket()});
    ChildProcess process(command, filteredEnvironment());
    process.wait();
    return process.outputWhole();
  }
  std::string status() const { return plugindCommand({"status"}); }

  bool shows(const std::set<std::string>& healthy) {
    return node_->kubelet.await(kCards, [&](const sim::DeviceTable& shown) {
      return std::ranges::includes(shown.healthy(), healthy);
    });
  }
  /// Why an Allocate is refused; empty: granted.
  std::string refusal(const std::string& device) {
    std::string error;
    node_->kubelet.offer(kCards, {device}, error);
    return error;
  }
  /// The same, asked until it is granted.
  std::string lastRefusal(const std::string& device) {
    const auto until = std::chrono::steady_clock::now() + sim::kPatience;
    std::string error = refusal(device);
    while (!error.empty() && std::chrono::steady_clock::now() < until) error = refusal(device);
    return error;
  }
  /// "here" waits for "away", and says what cannot be done meanwhile; so often in all.
  bool saysWhatIsMissing(const std::string& here, const std::string& away, std::size_t times) {
    return node_->plugind->saysAll({"event=privd_incomplete", "here=privd-" + here,
                                    "away=privd-" + away, "nothing new is registered or allocated"},
                                   times);
  }

  const std::string more_;
  const std::string settings_;
  std::map<std::string, std::unique_ptr<ChildProcess>> roles_;
};

}  // namespace vfiogate::test
