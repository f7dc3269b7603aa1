#pragma once
// Another device plugin on the same hardware: NVIDIA's for KubeVirt.

#include "tests/bench/plugin_client.h"

#include <memory>
#include <optional>
#include <string>

namespace vfiogate::bench {

/// In a mount namespace where our hardware and our kubelet's directory stand for the machine's. It
/// keeps no books: every device can be asked for again and again.
class PeerNode {
public:
  /// `plugin`: the program. Throws, in words, where it does not come.
  PeerNode(unsigned devices, std::string plugin, sim::KubeletOptions kubelet = {});
  PeerNode(const PeerNode&) = delete;
  PeerNode& operator=(const PeerNode&) = delete;

  /// One Allocate of the next `count` devices in turn.
  Took allocate(unsigned count);
  Devices nextDevices(unsigned count);
  Took callEmpty() { return client_->callEmpty(); }

  unsigned devices() const { return devices_; }
  sim::KubeletSim& kubelet() { return kubelet_; }
  std::string kubeletDirectory() const { return dir_ / "kubelet"; }
  std::string socket() const { return pluginSocket(kubeletDirectory()); }
  test::ChildProcess& process() { return *process_; }
  /// The kubelet has noticed its end when this returns.
  void stop();
  void start();

private:
  const unsigned devices_;
  const std::string plugin_;
  unsigned asked_ = 0;
  TempDir dir_;
  FakeSysfs hardware_;
  sim::KubeletSim kubelet_;
  std::unique_ptr<test::ChildProcess> process_;
  std::optional<PluginClient> client_;
};

}  // namespace vfiogate::bench
