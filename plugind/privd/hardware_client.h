#pragma once
// Hears from privd's hardware process of the hardware, and asks it about groups.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/discovery_counts.h"
#include "plugind/privd/hardware_view.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <list>
#include <memory>
#include <vector>

namespace vfiogate {

/// For one connection of privd's. PrivdLink says what each question is; here they fail where the
/// connection does. The loop's thread only.
class HardwareClient {
public:
  /// Borrows all.
  HardwareClient(PrivdEvents& events, SessionCalls& calls, const BindingView& bindings,
                 kj::Timer& timer);
  KJ_DISALLOW_COPY(HardwareClient);

  /// For the whole, from now on. Hangs up where privd gives no right to it. In a session only.
  kj::Promise<void> subscribe();

  /// Ends the connection where the answer takes 10 s from when it is asked, which is when no more
  /// than seven others are under way.
  kj::Promise<GroupReading> reread(IommuGroupId group);
  /// Rereads the group, and resolves when what that saw was told to `events`, or the group is not
  /// there. Ends the connection where it is not told within 10 s.
  kj::Promise<void> untilShown(IommuGroupId group);
  /// Who asks while that is being asked waits for the same answer. Ends the connection where it
  /// takes 10 s, also where nobody waits any more.
  kj::Promise<DiscoveryCounts> discovery();

  /// Tells the hardware again where it was told: what binder or gate say of it is another.
  void bindingsChanged();

  /// As privd told it last.
  const Snapshot& snapshot() const { return hardware_.snapshot(); }
  /// Ascending; empty: there is no such group, or no right to it.
  std::vector<Bdf> membersOf(IommuGroupId group);
  /// The same of all units in it.
  std::vector<UnitId> unitsOf(IommuGroupId group);

private:
  class HardwareObserver;

  void take(schema::Update::Reader update);
  GroupReading takeReading(schema::RereadAnswer::Reader answer);
  void show();
  kj::Promise<DiscoveryCounts> askForCounts(schema::Session::Client session);
  kj::Promise<void> rereadUntilShown(IommuGroupId group);
  kj::Promise<void> shown(Snapshot seen);

  /// Waits until `seen` is told.
  struct Waiter {
    Snapshot seen;
    kj::Own<kj::PromiseFulfiller<void>> shown;
  };

  PrivdEvents& events_;
  SessionCalls& calls_;
  const BindingView& bindings_;
  kj::Timer& timer_;
  HardwareView hardware_;
  bool awaitingWhole_ = true;
  kj::Maybe<schema::Subscription::Client> subscription_;
  std::list<Waiter> waiters_;
  kj::Promise<void> resubscribing_ = nullptr;
  bool counting_ = false;  ///< `counts_` is not there yet
  kj::ForkedPromise<DiscoveryCounts> counts_ = nullptr;
  const std::shared_ptr<HardwareClient*> self_ = std::make_shared<HardwareClient*>(this);
};

}  // namespace vfiogate
