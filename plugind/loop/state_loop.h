#pragma once
// Drives the ledger: tells it what happens, carries out what it asks for. Decides nothing itself.

#include "plugind/base/alarm.h"
#include "plugind/base/task_queue.h"
#include "plugind/control/control_server.h"
#include "plugind/core/ledger/ledger.h"
#include "plugind/core/resource/resource_catalog.h"
#include "plugind/core/settings.h"
#include "plugind/dra/claims/claim_ledger.h"
#include "plugind/kubelet/advertised_resources.h"
#include "plugind/kubelet/open_calls.h"
#include "plugind/loop/allocated_groups.h"
#include "plugind/loop/group_changes.h"
#include "plugind/loop/ledger_journal.h"
#include "plugind/loop/memory_readings.h"
#include "plugind/loop/serial_keeper.h"
#include "plugind/loop/spec_keeper.h"
#include "plugind/metrics/ledger_metrics.h"
#include "plugind/privd/link/privd_link.h"

#include <kj/async.h>

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// What stays as it is while the process lives.
struct Node {
  uid_t kubeletUid;    ///< whose connections are taken
  std::string bootId;  ///< of the running kernel
  BuildInfo build;     ///< of this program
  /// Null: nobody wanted them at the start, and pci.ids was not read.
  std::shared_ptr<const ProductNames> products{};
};

/// Lives on the loop's thread and is told everything there.
class StateLoop final : public PrivdEvents,
                        public PluginEvents,
                        public ControlSource,
                        public ClaimLedger,
                        private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all but the settings and the node.
  StateLoop(Settings settings, PrivdLink& privd, const LoopDeps& loop, LedgerJournal& journal,
            Node node);
  /// Closes the task queue: the thread of gRPC's queue may still post.
  ~StateLoop() noexcept(false);
  KJ_DISALLOW_COPY(StateLoop);

  /// Before anything is told. Borrowed.
  void serveClaims(ClaimServer& server) { claims_ = &server; }

  void hardwareSeen(const Snapshot& snapshot) override;
  void allocationsTold(const RecordedAllocations& recorded) override;
  void rightToBindTold(RightToBind right) override;
  void socketsAvailable() override;
  void kubeletAppeared(const KubeletIdentity& kubelet) override;
  void podResourcesAppeared() override;
  void checkpointReplaced() override;
  void configurationPosted(const std::string& text) override;
  void privdWent() override;

  void streamOpened(const ResourceName& name, std::shared_ptr<ListWatchStream> stream) override;
  void streamEnded(const ResourceName& name, const ListWatchStream& stream) override;
  void allocateAsked(const ResourceName& name, std::shared_ptr<AllocateCall> call) override;
  void preferenceAsked(const ResourceName& resource, std::shared_ptr<PreferCall> call) override;
  void startAsked(const ResourceName& name, std::shared_ptr<StartCall> call) override;
  void callCancelled(const std::shared_ptr<KubeletCall>& call) override;

  CallId newCall() override { return calls_.next(); }
  void prepareAsked(CallId call, const PrepareRequest& request, Instant arrived) override;
  void unprepareAsked(CallId call, const ClaimName& claim) override;
  void callDropped(CallId call) override;
  void specWritten(CallId call, bool written) override;
  void specUnlinked(const std::string& claimUid, bool unlinked) override;
  void claimChecked(const std::string& claimUid, bool ours) override;
  const LedgerState& ledgerState() const override { return ledger_.state(); }
  const Settings& settings() const override { return settings_; }

  kj::Promise<std::string> statusJson() override;
  std::string explainJson(const UnitId& address) const override;
  kj::Promise<std::string> metricsText() override;
  PluginReadiness readiness() const override;

private:
  Moment now() const;
  MemoryListener memoryListener();
  /// Updates not yet applied: the specs come first, so that they are in place
  /// before a resource registers, before a device turns Healthy, and before a new number is shown.
  struct News {
    std::optional<Snapshot> hardware;
    std::optional<Settings> settings;
    std::vector<EndedChange> changes;  ///< what they left is in the hardware above, or known
  };
  /// Hands the news to the ledger as soon as privd has the specs for them.
  void advance();
  /// More serial numbers are known, or why they are not: sorts what was seen last again.
  void sortAgain();
  /// Before the first device is named by pci.ids, until it succeeds; then goes on.
  void readNames();
  /// By PodResources List; `why`: there is no checkpoint that can be read.
  kj::Promise<void> listNames(const std::string& why);
  template <typename Memory>
  void keepNames(const Memory& memory);
  void applySettings(const Settings& settings);
  void applyHardware(const Snapshot& hardware, ResourceCatalog catalog);
  void tellEnd(const EndedChange& change);

  /// Carries out what an event led to, in the order that the ledger wants, and sets the alarm.
  void carryOut(Effects effects);
  void show(const std::map<ResourceName, Frame>& frames);
  void answer(const Answer& answer);
  void ask(const UseQuestion& question);

  /// Step 1 of adoption (ledger.md 6), again until it succeeds.
  void begin();
  kj::Promise<void> readStartMemory();

  PluginStatus status() const;
  void taskFailed(kj::Exception&& exception) override;

  Settings settings_;
  PrivdLink& privd_;
  const LoopDeps loop_;
  LedgerJournal& journal_;
  const Node node_;
  ModelNames models_;
  bool namesRead_ = false;  ///< what the kubelet calls the models
  bool readingNames_ = false;

  Ledger ledger_;
  LedgerMetrics metrics_;
  DiscoveryCounts discovery_;  ///< as privd told it last
  AllocatedGroups allocated_;
  GroupChanges changes_;
  SpecKeeper specs_;
  SerialKeeper serials_;
  News news_;
  std::optional<KubeletIdentity> kubelet_;       ///< the last one that was there
  std::optional<RecordedAllocations> recorded_;  ///< as privd told it last
  bool hardwareKnown_ = false;
  bool beginning_ = false;
  OpenCalls calls_;
  AdvertisedResources resources_;
  ClaimServer* claims_ = nullptr;  ///< null: no DRA driver is configured
  MemoryReadings memory_;
  Alarm alarm_;
  kj::Promise<void> statusReread_ = nullptr;  ///< the newest
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
