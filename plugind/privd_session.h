#pragma once
// One connection to privd, from the exchange of versions to its end.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/bind_client.h"
#include "plugind/config_watch.h"
#include "plugind/gate_client.h"
#include "plugind/hardware_view.h"
#include "plugind/loop_parts.h"
#include "plugind/privd_view.h"
#include "plugind/turnstile.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <map>
#include <memory>
#include <string>

namespace vfiogate {

/// What privd sent before Cap'n Proto starts.
struct PrivdOpening {
  kj::AutoCloseFd connection;
  kj::AutoCloseFd channel;
};

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
  PrivdSession(PrivdOpening opening, PrivdEvents& events, NodeLease& lease, const LoopParts& loop);
  ~PrivdSession() noexcept(false);
  KJ_DISALLOW_COPY(PrivdSession);

  /// Carries the session through; resolves when it is over, with the reason, for the log. Once.
  kj::Promise<std::string> run();

  /// Versions agree, and all that is needed was granted.
  bool entered() const { return entered_; }

  kj::Promise<GroupLook> look(IommuGroupId group);
  kj::Promise<BindOutcome> bind(IommuGroupId group);
  kj::Promise<BindOutcome> giveBack(IommuGroupId group);
  kj::Promise<Told> hold(IommuGroupId group);
  kj::Promise<Told> drop(IommuGroupId group);
  kj::Promise<Told> adopted();
  kj::Promise<DiscoveryCounts> discovery();
  kj::Promise<SpecAnswer> declareSpecs(const std::vector<StaticSpec>& specs);
  using SpecTexts = Result<std::vector<std::string>, SpecTrouble>;
  kj::Promise<SpecTexts> writeClaimSpec(const ClaimSpec& spec);
  kj::Promise<Result<Done, SpecTrouble>> unlinkClaimSpec(const std::string& uid);
  kj::Promise<SpecTexts> claimSpecTexts();
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet();
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource);
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket);
  kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint();
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources();

private:
  class HardwareObserver;

  kj::Promise<void> enter();
  kj::Promise<void> askEntry(kj::Duration pause);
  kj::Promise<void> askEntryLater(kj::Duration pause);
  kj::Promise<void> subscribe();
  kj::Promise<void> openGate();
  void watchConfig();
  template <typename T>
  kj::Promise<T> askGate(kj::Promise<T> answer);
  template <typename Ask>
  kj::PromiseForResult<Ask, schema::Session::Client&> askForSpecs(Ask ask);
  template <typename Call>
  kj::Promise<Told> tell(Call call);
  using AskForChange = kj::Promise<BindAnswered> (*)(schema::GroupControl::Client);
  kj::Promise<BindOutcome> change(IommuGroupId group, AskForChange ask);
  kj::Promise<void> untilShown(std::uint64_t generation);
  void take(schema::Update::Reader update);
  GroupLook takeLook(schema::LookAnswer::Reader answer);
  void hangUp(const std::string& why);

  PrivdEvents& events_;
  NodeLease& lease_;
  const LoopParts loop_;
  std::shared_ptr<DescriptorReceiver> descriptors_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  Turnstile calls_;
  Turnstile changes_;  ///< of drivers: those take their time, and nobody else shall wait for it
  HardwareView hardware_;
  bool entered_ = false;
  bool awaitingWhole_ = true;
  kj::Maybe<schema::Session::Client> session_;
  kj::Maybe<schema::Subscription::Client> subscription_;
  kj::Maybe<GateClient> gate_;
  kj::Maybe<ConfigWatch> config_;
  /// What holds outlives the group, so that the hold can be dropped.
  std::map<IommuGroupId, schema::GroupControl::Client> held_;
  /// Who waits for a generation to be shown.
  std::multimap<std::uint64_t, kj::Own<kj::PromiseFulfiller<void>>> awaited_;
  kj::PromiseFulfillerPair<std::string> over_ = kj::newPromiseAndFulfiller<std::string>();
  kj::Promise<void> resubscribing_ = nullptr;
  kj::Promise<void> watchingConfig_ = nullptr;
  kj::Canceler asked_;  // last: what was asked uses all of the above
};

}  // namespace vfiogate
