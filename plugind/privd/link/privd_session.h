#pragma once
// One session with privd, from the entry to its end: the hardware process's RPC stream, and the
// gate's channel.

#include "plugind/base/task_queue.h"
#include "plugind/core/bind_outcome.h"
#include "plugind/privd/allocation_client.h"
#include "plugind/privd/binding_view.h"
#include "plugind/privd/exclusion_client.h"
#include "plugind/privd/gate_client.h"
#include "plugind/privd/gate_entry.h"
#include "plugind/privd/hardware_client.h"
#include "plugind/privd/link/hardware_connection.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"
#include "plugind/privd/spec_client.h"
#include "plugind/privd/watched_files.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// What the two that make a session connected by.
struct PrivdWays {
  kj::AutoCloseFd hardware;  ///< a stream, on which Cap'n Proto starts
  kj::AutoCloseFd gate;      ///< a channel
};

/// Serves as observer, asks as client. What privd says wrongly ends the session, and the end of
/// either way is that of both. Its promises fail with DISCONNECTED when it is gone, also when it is
/// destroyed first. The loop's thread only.
class PrivdSession {
public:
  /// Has the binder change the drivers of the group with these members. Never fails.
  using AskBinder = kj::Function<kj::Promise<BindOutcome>(std::vector<Bdf> members)>;

  /// Borrows `events`, `lease`, which it takes where there is none yet, and `bindings`, which it
  /// tells of exclusions.
  PrivdSession(PrivdWays ways, PrivdEvents& events, NodeLease& lease, BindingView& bindings,
               const LoopDeps& loop);
  ~PrivdSession() noexcept(false);
  KJ_DISALLOW_COPY(PrivdSession);

  /// Carries the session through; resolves when it is over, with the reason, for the log. Once.
  kj::Promise<std::string> run();

  /// Versions agree, and all that is needed was granted.
  bool entered() const { return entered_; }
  /// The binder told something, or went: tells what is another now, where anything was told.
  void bindingsChanged();

  // Each fails where the connection does.

  /// What was told of the group's allocation comes first; the reading says whether it is on file.
  kj::Promise<GroupReading> reread(IommuGroupId group);
  kj::Promise<Told> allocate(IommuGroupId group, const std::string& note);
  kj::Promise<Told> release(IommuGroupId group);
  kj::Promise<Told> adopted() { return allocations_.adopted(); }
  /// What was told of the group's allocation comes first. Resolves when what the change left was
  /// told.
  kj::Promise<BindOutcome> change(IommuGroupId group, AskBinder ask);
  HardwareClient& hardware() { return hardware_; }
  SpecClient& specs() { return specs_; }
  GateClient& gate() { return gate_; }

private:
  kj::Promise<void> enter();
  kj::Promise<void> shakeHands();
  kj::Promise<void> subscribe();
  kj::Promise<void> takeFiles(kj::Promise<gate::WatchedFiles> told);
  kj::Promise<void> takeExclusions();
  void tellRight();
  kj::Promise<void> watchFiles();

  PrivdEvents& events_;
  BindingView& bindings_;
  const LoopDeps loop_;
  HardwareConnection privd_;
  SessionCalls calls_;
  ChannelToGate channel_;
  GateEntry entry_;
  GateClient gate_;
  AllocationClient allocations_;
  HardwareClient hardware_;
  SpecClient specs_;
  ExclusionClient exclusions_;
  FilesObserver files_;
  ConfigWatch config_;
  gate::WatchedFiles lastFiles_;
  std::optional<std::uint64_t> excluded_;  ///< the number of the exclusions that were read
  std::optional<RightToBind> toldRight_;
  bool entered_ = false;
  kj::Promise<void> handshake_ = nullptr;
  kj::Promise<void> watching_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
