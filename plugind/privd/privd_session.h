#pragma once
// One connection to privd, from the exchange of versions to its end.

#include "ipc/base/backoff.h"
#include "ipc/codec/descriptor_channel.h"
#include "ipc/socket/limited_client.h"
#include "plugind/base/task_queue.h"
#include "plugind/privd/config_watch.h"
#include "plugind/privd/gate_client.h"
#include "plugind/privd/hardware_client.h"
#include "plugind/privd/privd_listener.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"
#include "plugind/privd/spec_client.h"

#include <kj/async.h>

#include <memory>
#include <string>

namespace vfiogate {

/// What makes this the plugind of its node. Kept until the process ends: closing it gives the node
/// to whoever waits.
struct NodeLease {
  std::uint64_t number = 0;  ///< shown to a privd that comes back; 0: none yet
  kj::AutoCloseFd lock;
};

/// Serves as observer, asks as client. What privd says wrongly ends the session. Its promises fail
/// with DISCONNECTED when it is gone, also when it is destroyed first. The loop's thread only.
class PrivdSession {
public:
  /// Borrows `events` and `lease`, which it takes where there is none yet.
  PrivdSession(PrivdOpening opening, PrivdEvents& events, NodeLease& lease, const LoopDeps& loop);
  ~PrivdSession() noexcept(false);
  KJ_DISALLOW_COPY(PrivdSession);

  /// Carries the session through; resolves when it is over, with the reason, for the log. Once.
  kj::Promise<std::string> run();

  /// Versions agree, and all that is needed was granted.
  bool entered() const { return entered_; }

  /// Each fails where the connection does.
  HardwareClient& hardware() { return hardware_; }
  SpecClient& specs() { return specs_; }
  /// Null: privd has not opened it yet.
  kj::Maybe<GateClient>& gate() { return gate_; }

private:
  kj::Promise<void> enter();
  kj::Promise<void> askEntry();
  void tellAllocations(schema::EnterAnswer::Reader answer);
  kj::Promise<void> askEntryLater();
  kj::Promise<void> openGate();
  void watchConfig();

  PrivdEvents& events_;
  NodeLease& lease_;
  const LoopDeps loop_;
  std::shared_ptr<DescriptorReceiver> descriptors_;
  LimitedClient privd_;
  SessionCalls calls_;
  HardwareClient hardware_;
  SpecClient specs_;
  Backoff<kj::Duration> entryPauses_;
  bool entered_ = false;
  kj::Maybe<GateClient> gate_;
  kj::Maybe<ConfigWatch> config_;
  kj::Promise<void> watchingConfig_ = nullptr;
};

}  // namespace vfiogate
