#pragma once
// One connection to privd, from the entry to its end: the RPC stream, and the gate's channel.

#include "ipc/socket/limited_client.h"
#include "plugind/base/task_queue.h"
#include "plugind/privd/allocation_client.h"
#include "plugind/privd/gate_client.h"
#include "plugind/privd/gate_entry.h"
#include "plugind/privd/hardware_client.h"
#include "plugind/privd/privd_listener.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"
#include "plugind/privd/spec_client.h"
#include "plugind/privd/watched_files.h"

#include <kj/async.h>

#include <string>

namespace vfiogate {

/// Serves as observer, asks as client. What privd says wrongly ends the session, and the end of
/// either way is that of both. Its promises fail with DISCONNECTED when it is gone, also when it is
/// destroyed first. The loop's thread only.
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

  // Each fails where the connection does.

  /// What was told of the group's allocation comes first; the reading says whether it is on file.
  kj::Promise<GroupReading> reread(IommuGroupId group);
  kj::Promise<Told> allocate(IommuGroupId group, const std::string& note);
  kj::Promise<Told> release(IommuGroupId group);
  kj::Promise<Told> adopted() { return allocations_.adopted(); }
  HardwareClient& hardware() { return hardware_; }
  SpecClient& specs() { return specs_; }
  GateClient& gate() { return gate_; }

private:
  kj::Promise<void> enter();
  kj::Promise<void> enterRpc();
  kj::Promise<void> takeFiles();
  kj::Promise<void> watchFiles();

  PrivdEvents& events_;
  const LoopDeps loop_;
  LimitedClient privd_;
  SessionCalls calls_;
  ChannelToGate channel_;
  GateEntry entry_;
  GateClient gate_;
  AllocationClient allocations_;
  HardwareClient hardware_;
  SpecClient specs_;
  FilesObserver files_;
  ConfigWatch config_;
  gate::WatchedFiles lastFiles_;
  bool entered_ = false;
  kj::Promise<void> watching_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
