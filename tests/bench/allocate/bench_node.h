#pragma once
// A node with many devices whose Allocate is measured.

#include "privd/scan/sysfs_root.h"
#include "tests/bench/plugin_client.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::bench {

constexpr int kPreferred = 8;

/// The stand-in kubelet registers plugind, takes its frames and writes checkpoints; the measured
/// calls go past it, on a connection of our own to the same socket, so that no admission is
/// measured.
class BenchNode {
public:
  /// Starts all of it; throws, in words, where that fails. `perCall`: how many devices, each in a
  /// group of its own, one Allocate asks for.
  BenchNode(unsigned devices, unsigned perCall);
  BenchNode(const BenchNode&) = delete;
  BenchNode& operator=(const BenchNode&) = delete;

  unsigned devices() const { return node_.devices(); }
  std::string socket() const { return pluginSocket(node_.kubeletDirectory()); }
  /// How often plugind was started anew to have its devices back.
  unsigned restarts() const { return restarts_; }

  /// One Allocate of devices that are free and were not asked for since plugind started. Where too
  /// few are left, plugind is started anew first, outside the time taken: the kubelet has recorded
  /// none of these calls, so every device is free again. Waiting for their release instead, 30 s
  /// and a reconcile, would leave eight devices with 16 calls a minute.
  Took allocate();
  /// What so many callers can each ask for: free, and not asked for since plugind started, which it
  /// is anew where fewer are left. Throws where the node has not so many.
  std::vector<Devices> takeFree(unsigned callers);
  /// One GetDevicePluginOptions of the same plugind on the same connection: it says nothing and
  /// asks nobody.
  Took callEmpty() { return client_->callEmpty(); }
  /// One GetPreferredAllocation of kPreferred devices out of all.
  Took prefer() { return client_->prefer(all_, kPreferred); }
  /// What privd reads of one group for an Allocate, read here: the share of sysfs, without any
  /// other process.
  Took readGroup();

private:
  /// The first Allocate of a plugind reconciles with the kubelet's memory before it is judged
  /// (ledger.md 6): not measured.
  void adopt();
  void refill();
  Took askFor(const Devices& devices);
  Devices takeNext(unsigned count);

  const unsigned perCall_;
  NodeUnderTest node_;
  unsigned restarts_ = 0;
  SysfsRoot sysfs_;
  DevRoot dev_;
  unsigned read_ = 0;
  std::optional<PluginClient> client_;
  std::vector<std::string> all_;
  std::deque<std::string> free_;
};

}  // namespace vfiogate::bench
