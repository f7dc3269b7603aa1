#pragma once
// The real privd and plugind with many devices and a stand-in kubelet, for measuring.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/support/fake_sysfs.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfiogate::bench {

using Clock = std::chrono::steady_clock;
using Took = std::chrono::nanoseconds;

constexpr const char* kResource = "vfiogate.dev/10de_2684";

/// Where the n-th device is. Its group has the number n.
std::string addressOf(unsigned number);

/// Devices of one resource, each alone in its group and bound to vfio-pci.
class NodeUnderTest {
public:
  /// Starts all of it and waits until the kubelet was shown every device; throws, in words, where
  /// that fails. privd listens to the kernel, of the network namespace that this is called in.
  explicit NodeUnderTest(unsigned devices, sim::KubeletOptions kubelet = {});
  NodeUnderTest(const NodeUnderTest&) = delete;
  NodeUnderTest& operator=(const NodeUnderTest&) = delete;

  unsigned devices() const { return devices_; }
  FakeSysfs& hardware() { return hardware_; }
  sim::KubeletSim& kubelet() { return *kubelet_; }
  test::ChildProcess& plugind() { return *plugind_; }
  /// What started the gate and hardware.
  test::ChildProcess& privd() { return *privd_; }
  std::string plugindSocket() const { return dir_ / "plugind/plugind.sock"; }
  std::string kubeletDirectory() const { return dir_ / "kubelet"; }

  /// The kubelet has noticed its end when this returns.
  void stopPlugind();
  /// plugind forgets everything, and is registered again when this returns.
  void restartPlugind();
  /// The same of all processes.
  void stopAll();
  /// Starts all, and waits for none.
  void startAll();
  /// Waits until the kubelet was shown every device as healthy.
  void awaitAll();

private:
  void startPrivd();
  void startPlugind();

  const unsigned devices_;
  TempDir dir_;
  FakeSysfs hardware_;
  std::optional<sim::KubeletSim> kubelet_;
  std::optional<test::ChildProcess> plugind_;
  std::optional<test::ChildProcess> privd_;
};

/// Throws: no figures come, and why. Whoever was started ends with its owner.
[[noreturn]] void giveUp(const std::string& why);

}  // namespace vfiogate::bench
