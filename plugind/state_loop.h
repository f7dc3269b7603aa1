#pragma once
// The one owner of what plugind knows: hardware, ledger, what is shown. Only this file mutates it.

#include "plugind/core/advertise.h"
#include "plugind/core/group_ledger.h"
#include "plugind/core/resource_catalog.h"
#include "plugind/core/settings.h"
#include "plugind/kubelet/advertised_resource.h"
#include "plugind/kubelet/kubelet_sockets.h"
#include "plugind/ledger_journal.h"
#include "plugind/loop_parts.h"
#include "plugind/outage.h"
#include "plugind/privd_view.h"

#include <kj/async.h>

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace vfiogate {

/// The two sides of privd that the loop uses.
struct PrivdSides {
  GroupEyes& eyes;
  KubeletSockets& sockets;
};

/// Lives on the loop's thread and is told everything there. Whatever is shown is made anew from
/// snapshot, catalogue and ledger; nothing of it is patched.
class StateLoop final : public PrivdEvents, public PluginEvents, private kj::TaskSet::ErrorHandler {
public:
  /// Takes the kubelet's connections from `kubeletUid` only. Borrows all but the settings.
  StateLoop(Settings settings, const PrivdSides& privd, const LoopParts& loop,
            LedgerJournal& journal, uid_t kubeletUid);
  /// Closes the letterbox: gRPC's threads may still post.
  ~StateLoop() noexcept(false);
  KJ_DISALLOW_COPY(StateLoop);

  void hardwareSeen(const Snapshot& snapshot) override;
  void socketsAvailable() override;
  void kubeletAppeared(const KubeletIdentity& kubelet) override;
  void podResourcesAppeared() override {}
  void checkpointReplaced() override {}
  void privdWent() override;

  void streamOpened(const ResourceName& resource, std::shared_ptr<ListWatchStream> stream) override;
  void streamEnded(const ResourceName& resource, const ListWatchStream& stream) override;
  void allocateAsked(const ResourceName& resource, std::shared_ptr<AllocateCall> call) override;
  void allocateCancelled(const std::shared_ptr<AllocateCall>& call) override;

private:
  /// One Allocate that is being decided.
  struct Deciding {
    ResourceName resource;
    std::shared_ptr<AllocateCall> call;
    kj::TimePoint deadline;
    bool waitsForPrivd = false;
    std::optional<TakeTicket> ticket;
  };
  using DecidingPtr = std::shared_ptr<Deciding>;

  kj::Promise<void> decide(DecidingPtr deciding);
  kj::Promise<void> waitForPrivd(DecidingPtr deciding);
  kj::Promise<GroupLooks> lookAtAll(const Deciding& deciding);
  kj::Promise<void> settle(DecidingPtr deciding, const GroupLooks& looks);
  void refuse(const Deciding& deciding, const Refusal& refusal);
  void leave(const DecidingPtr& deciding);

  Scene scene() const { return {snapshot_, catalog_}; }
  void refreshFrames();
  void startResource(const ResourceName& name);
  void closeLending(const char* why);
  void taskFailed(kj::Exception&& exception) override;

  const Settings settings_;
  const PrivdSides privd_;
  const LoopParts loop_;
  LedgerJournal& journal_;
  const uid_t kubeletUid_;

  Snapshot snapshot_;
  ResourceCatalog catalog_;
  GroupLedger ledger_;
  Advertisement shown_;
  Outage outage_;
  std::optional<KubeletIdentity> kubelet_;  ///< the last one that was there
  std::vector<DecidingPtr> deciding_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waitingForPrivd_;
  std::map<ResourceName, std::unique_ptr<AdvertisedResource>> resources_;
  kj::Promise<void> grace_ = nullptr;
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
