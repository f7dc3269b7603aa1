#pragma once
// A whole node to try vfiogate on: hardware, stand-in kubelet, privd and plugind; what its kubelet
// sees, in words; and the commands that a person may give it.

#include "ipc/base/result.h"
#include "sim/base/child_process.h"
#include "sim/kubelet/kubelet_sim.h"
#include "sim/sysfs/sim_process.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// Where everything of a node lies below one directory.
struct NodePlaces {
  std::string directory;

  std::string kubelet() const { return directory + "/kubelet"; }
  std::string simulation() const { return directory + "/hardware"; }
  std::string hardwareControl() const { return directory + "/hardware.ctl"; }
  std::string control() const { return directory + "/node.ctl"; }
  std::string plugindSocket() const { return directory + "/plugind/plugind.sock"; }
  std::string state() const { return directory + "/state"; }
};

struct NodeOptions {
  std::string directory;  ///< exists, empty, short: sockets lie in it
  std::string programs;   ///< where privd, plugind and sim-sysfs are
  std::string topology;  ///< of the simulated hardware; empty: this machine's own, in /sys and /dev
  std::string config;    ///< plugind's
  std::string uevents = "auto";  ///< how they are delivered: see `sim-sysfs mount --help`
  unsigned seed = 1;             ///< for "thrice"
  std::chrono::milliseconds patience{
      30'000};  ///< of whoever waits for the kubelet to see something
  /// privd's, without a hint.
  std::chrono::seconds rescan{5};
  /// Told each line that privd ("privd") and plugind say, on a thread of its own.
  std::function<void(const std::string& who, const std::string& line)> heard;
};

/// Brings everything up in the caller's namespaces; ends with its owner. One thread uses it.
class Node {
public:
  /// Fails with the reason, for people: what is missing and what would help.
  static Result<std::unique_ptr<Node>, std::string> start(NodeOptions options);

  const NodePlaces& places() const { return places_; }
  std::string sysfs() const { return simulation_ ? simulation_->sysfs() : "/sys"; }
  std::string dev() const { return simulation_ ? simulation_->dev() : "/dev"; }
  bool simulated() const { return simulation_ != nullptr; }
  const std::string& programs() const { return options_.programs; }

  KubeletSim& kubelet() { return kubelet_; }
  test::ChildProcess& privd() { return *privd_; }
  test::ChildProcess& plugind() { return *plugind_; }

  /// A command of `sim-sysfs ctl`; its answer, "error: ..." if it failed.
  std::string hardware(const std::string& command) const;

  /// Each kills the program if it runs, and starts it. False: it did not come up.
  bool startPrivd();
  bool startPlugind();

private:
  explicit Node(NodeOptions options);
  std::optional<std::string> makePlaces() const;
  std::unique_ptr<test::ChildProcess> run(const std::string& who,
                                          const std::vector<std::string>& words) const;

  const NodeOptions options_;
  const NodePlaces places_;
  std::unique_ptr<SimProcess> simulation_;
  KubeletSim kubelet_;
  std::unique_ptr<test::ChildProcess> plugind_;
  std::unique_ptr<test::ChildProcess> privd_;
};

/// A mount and a network namespace of this process's own, so that neither mounts nor kernel events
/// of a simulation reach the machine. Fails with the reason.
std::optional<std::string> enterOwnNamespaces();

/// "[0000:01:00.0 Healthy numa 0, 0000:02:00.0 Unhealthy]": the last frame of a resource.
std::string frameText(const DeviceTable& devices);

/// "0000:01:00.0 nodes /dev/vfio/vfio /dev/vfio/12 env PCI_RESOURCE_...=0000:01:00.0".
std::string grantText(const Granted& granted);

/// Resources with capacity, allocatable and devices, a line each.
std::string nodeText(KubeletSim& kubelet);

/// Carries out `line` and answers in lines; "error: ..." if it could not. Commands that are not the
/// node's own go to the simulated hardware.
std::string execute(Node& node, const std::string& line);

}  // namespace vfiogate::sim
