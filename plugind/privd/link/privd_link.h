#pragma once
// Client for privd's processes; answers "away" when they are disconnected.

#include "plugind/base/log_events.h"
#include "plugind/base/visitor.h"
#include "plugind/core/resource/serial_numbers.h"
#include "plugind/privd/binding_view.h"
#include "plugind/privd/link/binder_channel.h"
#include "plugind/privd/link/privd_listener.h"
#include "plugind/privd/link/privd_session.h"
#include "plugind/privd/link/waiting_role.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// Takes connections for as long as it lives; answers for privd while it is not there. It is where
/// gate and hardware process are: the first waits for the second, and goes with it. The binder
/// comes and goes by itself. The loop's thread only.
class PrivdLink final : public GroupAllocations,
                        public SpecStore,
                        public KubeletSockets,
                        public DraSockets,
                        public KubeletMemorySource,
                        private kj::TaskSet::ErrorHandler {
public:
  using Users = PrivdListener::Users;

  /// `listener` is plugind's own.
  PrivdLink(kj::AutoCloseFd listener, Users users, const LoopDeps& loop);
  KJ_DISALLOW_COPY(PrivdLink);

  /// Starts taking connections. Borrows `events`. Connections of visitors go to
  /// `visitor`. Call once.
  void start(PrivdEvents& events, kj::Function<void(kj::AutoCloseFd, Visitor)> visitor);

  /// A session has begun: gate and hardware process are connected.
  bool isThere() const { return there_; }
  /// What is not connected.
  std::vector<PrivdRole> away() const;

  /// Asks privd to read the group from sysfs now. Never fails; has no deadline of its own.
  kj::Promise<GroupReading> reread(IommuGroupId group);
  /// The same, and where that shows no use the binder opens the group: only to be asked where the
  /// ledger says that this may be (ledger.md 3). The probe is kCannot where there is no binder, it
  /// may not, or does not answer within 10 s.
  kj::Promise<GroupReading> rereadAndProbe(IommuGroupId group);
  /// Has the binder ask a card for its serial number. Never fails; may take a minute.
  kj::Promise<SerialAnswer> serialOf(const Bdf& device);
  /// Absent: privd is away, or did not answer within 50 ms; after 10 s of that it is. Never fails.
  kj::Promise<std::optional<DiscoveryCounts>> discovery();

  // Have the binder change the drivers of a group. Both resolve after hardwareSeen() showed what
  // the change left, or with kPrivdAway where privd is not there; that is the answer, too, where
  // only the binder is not, or leaves. Never fail; have no deadline of their own; may be asked
  // again.

  /// To VFIO, for an allocation.
  kj::Promise<BindOutcome> bind(IommuGroupId group) { return change(group, DriverChange::kBind); }
  /// To the host driver, where privd bound it for an allocation.
  kj::Promise<BindOutcome> giveBack(IommuGroupId group) {
    return change(group, DriverChange::kGiveBack);
  }

  // The CDI specs of prepared claims, which privd writes. Never fail.

  /// Durable: the CDI names of the devices, in their order.
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> writeClaimSpec(const ClaimSpec& spec);
  /// Durable, with all that came with it; also where there was none.
  kj::Promise<Result<Done, SpecTrouble>> unlinkClaimSpec(const std::string& uid);
  /// The texts of those that are on disk.
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> claimSpecTexts();

  kj::Promise<Told> allocate(IommuGroupId group, const std::string& note) override;
  kj::Promise<Told> release(IommuGroupId group) override;
  kj::Promise<Told> adopted() override;
  kj::Promise<std::optional<SpecAnswer>> declareSpecs(
      const std::vector<StaticSpec>& specs) override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource) override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket) override;
  kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint() override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() override;

private:
  kj::Promise<Told> unlessAway(kj::Promise<Told> told);
  kj::Promise<BindOutcome> unlessAway(kj::Promise<BindOutcome> outcome);
  template <typename T, typename Ask>
  kj::Promise<Result<T, SocketRefusal>> askGate(Ask ask);
  kj::Promise<BindOutcome> change(IommuGroupId group, DriverChange change);
  kj::Promise<GroupReading> probe(IommuGroupId group, GroupReading reading);
  kj::Promise<BindOutcome> askBinder(DriverChange change, std::vector<Bdf> members);
  void arrived(PrivdRole role, kj::AutoCloseFd connection);
  void await(PrivdRole role, kj::AutoCloseFd connection);
  void begin(PrivdWays ways);
  void over(const std::string& why);
  void beginBinder(kj::AutoCloseFd channel);
  bool binderTold(binder::Changed changed);
  void binderOver(const std::string& why);
  void bindingsChanged();
  void tellGone();
  void tellFailure(LogEvent event, const std::string& why);
  void taskFailed(kj::Exception&& exception) override;

  const LoopDeps loop_;
  PrivdListener listener_;
  PrivdEvents* events_ = nullptr;
  std::string lastFailure_;
  std::string lastBinderFailure_;
  bool incompleteTold_ = false;  ///< since the last session
  bool there_ = false;
  NodeLease lease_;
  BindingView bindings_;
  kj::Own<WaitingRole> waiting_;
  kj::Own<PrivdSession> session_;
  kj::Own<ChannelToBinder> binder_;
  kj::Promise<void> waitingEnds_ = nullptr;
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
