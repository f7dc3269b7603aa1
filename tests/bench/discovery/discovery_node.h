#pragma once
// A node whose devices are bound and unbound under privd's eyes.

#include "sim/sysfs/uevent_injector.h"
#include "tests/bench/bare_read.h"
#include "tests/bench/discovery/bare_listener.h"
#include "tests/bench/frame_watch.h"
#include "tests/bench/node_under_test.h"
#include "tests/support/seen/process_size.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace vfiogate::bench {

/// What became of a change.
struct Change {
  Took made;        ///< writing it, and sending the kernel's events of it
  Took shown;       ///< from before that until the frame that shows all of it was there
  unsigned frames;  ///< until then, that one included
  Took heard;       ///< the same events, sent and received in a bare loop right before
};

/// What privd says of its sweeps.
struct SweepCounts {
  std::uint64_t sweeps = 0;
  double seconds = 0;
};

/// Hardware is a directory laid out like sysfs; each change is followed at once by the events that
/// the kernel sends, in a network namespace of the node's own. Frames are read by the stand-in
/// kubelet, which tells of them before it does anything with them.
class DiscoveryNode {
public:
  /// Starts all of it, in new network namespaces, in the last of which the calling thread stays.
  explicit DiscoveryNode(unsigned devices);

  unsigned devices() const { return node_.devices(); }

  /// Unbinds a device, or binds one that was unbound. No device changes so often that it flaps
  /// (ADR 8): where it would, this waits first.
  Change changeOne();
  /// How many devices changeMany() changes.
  unsigned burstSize() const;
  /// Unbinds as many devices, one right after the other, or binds them all again.
  Change changeMany();

  /// What plugind has resident, KiB.
  std::size_t plugindResident() { return test::sizeOf(node_.plugind().pid()).residentKib; }

  /// Has privd read everything once.
  void sweep();
  SweepCounts sweepCounts();
  /// The same files, read bare.
  Took readBare();

private:
  Change change(const std::vector<unsigned>& numbers, bool bound);
  void rebind(unsigned number, bool bound);
  void send(const sim::Uevent& event);
  void awaitSteady(unsigned number);

  FrameWatch frames_;
  sim::UeventInjector elsewhere_;  ///< in a namespace of which privd hears nothing
  BareListener listener_;
  sim::UeventInjector events_;
  NodeUnderTest node_;
  BareRead bare_;
  std::vector<bool> bound_;
  std::vector<std::deque<Clock::time_point>> changes_;  ///< of each device, of the last minute
  unsigned ones_ = 0;
};

}  // namespace vfiogate::bench
