#pragma once
// Hears from privd of the hardware, and asks it about groups.
// Asks privd to change the drivers of a group.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/discovery_counts.h"
#include "plugind/core/bind_outcome.h"
#include "plugind/privd/hardware_view.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <map>
#include <vector>

namespace vfiogate {

struct BindAnswered {
  BindOutcome outcome;
  std::uint64_t generation;  ///< of the snapshot that shows what it left
};

/// Both fail as Cap'n Proto's calls do.
kj::Promise<BindAnswered> askToBind(schema::GroupControl::Client control);
kj::Promise<BindAnswered> askToGiveBack(schema::GroupControl::Client control);

/// For one connection of privd's. PrivdLink says what each question is; here they fail where the
/// connection does. The loop's thread only.
class HardwareClient {
public:
  /// Borrows all.
  HardwareClient(PrivdEvents& events, SessionCalls& calls, kj::Timer& timer);
  KJ_DISALLOW_COPY(HardwareClient);

  /// For the whole, from now on. Hangs up where privd gives no right to it. In a session only.
  kj::Promise<void> subscribe();

  kj::Promise<GroupReading> reread(IommuGroupId group);
  kj::Promise<BindOutcome> bind(IommuGroupId group) { return change(group, askToBind); }
  kj::Promise<BindOutcome> giveBack(IommuGroupId group) { return change(group, askToGiveBack); }
  kj::Promise<DiscoveryCounts> discovery();

  /// As privd told it last.
  const Snapshot& snapshot() const { return hardware_.snapshot(); }
  /// Ascending; empty: there is no such group, or no right to it.
  std::vector<Bdf> membersOf(IommuGroupId group);

private:
  class HardwareObserver;

  void take(schema::Update::Reader update);
  GroupReading takeReading(schema::RereadAnswer::Reader answer);
  using AskForChange = kj::Promise<BindAnswered> (*)(schema::GroupControl::Client);
  kj::Promise<BindOutcome> change(IommuGroupId group, AskForChange ask);
  kj::Promise<void> untilShown(std::uint64_t generation);

  PrivdEvents& events_;
  SessionCalls& calls_;
  kj::Timer& timer_;
  HardwareView hardware_;
  bool awaitingWhole_ = true;
  kj::Maybe<schema::Subscription::Client> subscription_;
  /// Waiters for a generation.
  std::multimap<std::uint64_t, kj::Own<kj::PromiseFulfiller<void>>> awaited_;
  kj::Promise<void> resubscribing_ = nullptr;
};

}  // namespace vfiogate
