#pragma once
// The fixture of tests with plugind, privd and its commands on hardware that binds as the kernel
// does.

#include "sim/sysfs/sim_process.h"
#include "tests/integration/split_case.h"
#include "tests/support/bind_node.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Of the cards of vendor 8086: bound when they are allocated, and given back.
inline const std::string kCards = "vfiogate.dev/cards";

class SimSplitCase : public SplitCase {
protected:
  /// `topology`: the name of a file in tests/topologies. `uevents`: whether the hardware tells of
  /// its changes, "on" or "off".
  explicit SimSplitCase(std::string topology, std::string uevents = "off")
      : topology_(std::move(topology)), uevents_(std::move(uevents)) {}
  ~SimSplitCase() noexcept override = default;

  void SetUp() override {
    if (!enterOwnNamespaces()) GTEST_SKIP() << "needs root and /dev/fuse";
    SplitCase::SetUp();
    const char* const source = std::getenv("VFIOGATE_SOURCE");
    std::filesystem::create_directory(node_->directory("hardware"));
    auto started =
        sim::SimProcess::start({.program = builtProgram("sim-sysfs"),
                                .topology = std::string(source == nullptr ? "." : source) +
                                            "/tests/topologies/" + topology_,
                                .directory = node_->directory("hardware"),
                                .control = node_->directory("hardware.ctl"),
                                .uevents = uevents_,
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
    ASSERT_TRUE(startPlugind()) << node_->said();
    startAgain(allow, rescan);
  }
  /// `more`: further keys of its resource, `settings`: further lines of its configuration.
  bool startPlugind(const std::string& more = "", const std::string& settings = "") {
    return node_->startPlugind(settings + "resources:\n  - {name: " + kCards +
                               ", select: {vendor: \"8086\"}, bind: on-allocate, returnTo: "
                               "original" +
                               more + "}\n");
  }
  void startAgain(const std::string& allow, const std::string& rescan,
                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        "--sysfs",          sim_->sysfs(),        "--dev",       sim_->dev(), "--rescan", rescan,
        "--plugind-rights", "watch,kubelet,bind", "--audit-log", auditFile()};
    if (!allow.empty()) words.insert(words.end(), {"--allow", allow});
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_TRUE(node_->startPrivd(words)) << node_->said();
  }
  std::string driverOf(const std::string& address) const {
    std::error_code none;
    return std::filesystem::read_symlink(sim_->sysfs() + "/bus/pci/devices/" + address + "/driver",
                                         none)
        .filename();
  }
  /// `privd WORDS` on this node.
  std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.begin(), builtProgram("privd"));
    words.insert(words.end(), {"--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--state-dir",
                               node_->directory("state"), "--audit-log", auditFile()});
    return words;
  }
  Ended run(const std::vector<std::string>& words) const {
    ChildProcess process(command(words), filteredEnvironment());
    const int code = process.wait();
    return {code, process.outputWhole()};
  }
  std::string auditFile() const { return node_->directory("audit.jsonl"); }

  const std::string topology_;
  const std::string uevents_;
  std::unique_ptr<sim::SimProcess> sim_;
};

}  // namespace vfiogate::test
