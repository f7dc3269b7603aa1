#pragma once
// How plugind gets into privd's gate: as the one of its node, and with what was allocated before.

#include "ipc/base/backoff.h"
#include "plugind/core/recorded_allocations.h"
#include "plugind/privd/gate_channel.h"

#include <kj/async.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <cstdint>

namespace vfiogate {

/// What makes this the plugind of its node. Kept until the process ends: closing it gives the node
/// to whoever waits.
struct NodeLease {
  std::uint64_t number = 0;  ///< shown to a privd that comes back; 0: none yet
  kj::AutoCloseFd lock;
};

/// For one connection of privd's. The loop's thread only.
class GateEntry {
public:
  /// Borrows all; takes a lease where there is none yet.
  GateEntry(ChannelToGate& gate, SessionCalls& calls, NodeLease& lease, kj::Timer& timer);

  /// Asks again for as long as another plugind has the node. Resolves with privd's record of
  /// allocations; never where the connection ends.
  kj::Promise<RecordedAllocations> run();

private:
  kj::Promise<RecordedAllocations> take(GateReply reply);
  kj::Promise<RecordedAllocations> askLater();
  kj::Promise<RecordedAllocations> readOn(RecordedAllocations recorded);
  kj::Promise<RecordedAllocations> hangUp(const std::string& why);

  ChannelToGate& gate_;
  SessionCalls& calls_;
  NodeLease& lease_;
  kj::Timer& timer_;
  Backoff<kj::Duration> pauses_;
};

}  // namespace vfiogate
