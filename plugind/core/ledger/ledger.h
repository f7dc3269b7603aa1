#pragma once
// The one authority on allocation: who holds which IOMMU group (ledger.md is the specification).
//
// How the I/O layer drives it. Every event below is told on one thread, with the time of both
// clocks and a random draw; what it returns is carried out whole, in the order of `Effects`'
// members, before the next event. Between events the caller sleeps until nextDeadline() and then
// calls tick().
//
//   start          hardwareSeen(), kubeletSeen(), then begin() with what could be read of the
//                  kubelet's memory. False: nothing is known yet, do not register, try again.
//                  True: register every resource of frames().
//   calls          allocateAsked(), prepareAsked(), unprepareAsked(), preStartAsked() with an id of
//                  the caller's choice, never used twice. Exactly one Answer with that id follows,
//                  now or later, unless callCancelled() comes first. The ledger keeps deadlines.
//   questions      groupRead() with what privd said, `call` as in the question. Never: the
//                  deadline ends the call, and others are asked again.
//   binds          bindEnded(), and returns: returnEnded(). A fresh hardwareSeen() comes first.
//   specs          specWritten(), specUnlinked().
//   beginReconcile List (listRead), one frame sent twice on a live stream, then each version that
//                  is written from then on, until two were read (versionRead, inReconcile). Then
//                  reconcileEnded(): `proved` only if all of it was there. Always called, once.
//   askList        listRead() alone.
//   any time       versionRead() for each version that appears, not inReconcile; kubeletSeen() when
//                  `kubelet.sock` is new, and whenever privd comes back; hardwareSeen() for every
//                  snapshot (privd's first one ends its absence), privdWent() when it is gone.
//
// Rows 35 and 53 are privd's, 51 and the registering of 50 are the I/O layer's.

#include <functional>

#include "plugind/core/bind_outcome.h"
#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// What can be read at the start (ledger.md 6, step 1).
struct StartMemory {
  std::optional<CheckpointVersion> version;
  std::optional<PodList> list;
  std::vector<PrepareRequest> specs;  ///< the claims whose specs are on disk
  bool noCheckpoint = false;          ///< there is no version because the kubelet has written none
  std::optional<RecordedAllocations> recorded;  ///< privd's record; absent: not told
};

class Ledger {
public:
  explicit Ledger(LedgerSettings settings);

  Effects hardwareSeen(HardwareFacts facts, ResourceCatalog catalog, const Moment& now);
  Effects privdWent(const Moment& now);
  /// Row 54: other settings, and the devices sorted by them. Holders keep what they hold.
  /// `specs`: as privd wrote them for that catalogue.
  Effects reconfigured(LedgerSettings settings, ResourceCatalog catalog, StaticSpecs specs,
                       const Moment& now);
  /// privd wrote specs, or tried to, that no other event brings.
  Effects specsSeen(StaticSpecs specs, const Moment& now);
  Effects groupRead(IommuGroupId group, const GroupReading& reading, std::optional<CallId> call,
                    const Moment& now);
  /// Neither where privd went before it answered: its next snapshot says what came of it.
  Effects bindEnded(IommuGroupId group, const BindOutcome& outcome, const Moment& now);
  Effects returnEnded(IommuGroupId group, const BindOutcome& outcome, const Moment& now);

  Effects kubeletSeen(const KubeletIdentity& kubelet, const Moment& now);
  Effects begin(const StartMemory& memory, const Moment& now);
  /// `asked`: when the reading was begun, where that is known.
  Effects versionRead(const CheckpointVersion& version, bool inReconcile, const Moment& now,
                      std::optional<Instant> asked = std::nullopt);
  /// `asked`: when the List was begun.
  Effects listRead(const PodList& list, Instant asked, const Moment& now);
  Effects reconcileEnded(bool proved, const Moment& now);

  Effects allocateAsked(CallId id, const AllocateRequest& request, const Moment& now);
  Effects preStartAsked(CallId id, const PreStartRequest& request, const Moment& now);
  /// `arrived`: when the kubelet's call did, whose claim was read since. Its deadline counts from
  /// there.
  Effects prepareAsked(CallId id, const PrepareRequest& request, Instant arrived,
                       const Moment& now);
  Effects unprepareAsked(CallId id, const ClaimName& claim, const Moment& now);
  /// The caller hung up before the answer. Nothing if it was answered.
  Effects callCancelled(CallId id, const Moment& now);
  /// Nothing if the call was answered.
  Effects specWritten(CallId id, bool written, const Moment& now);
  Effects specUnlinked(const std::string& claimUid, bool unlinked, const Moment& now);
  /// `ours`: the claim exists, with this UID, and is allocated to us.
  Effects claimChecked(const std::string& claimUid, bool ours, const Moment& now);

  /// Does what is due. Too early or too often changes nothing.
  Effects tick(const Moment& now);
  /// When tick() is to be called next; absent: an event comes first.
  std::optional<Instant> nextDeadline() const;

  /// Step 1 of adoption is done: resources may be registered.
  bool begun() const { return state_.begun; }
  /// Step 2 is: `/readyz`.
  bool adopted() const { return state_.adopted; }
  std::map<ResourceName, Frame> frames() const;
  Holding holding(const UnitId& address) const;
  const LedgerState& state() const { return state_; }

private:
  /// True if what follows from the event has been worked out already.
  using Worked = std::function<bool(Turn&)>;
  Effects handle(const Moment& now, const std::function<void(Turn&)>& act,
                 const Worked& worked = {});
  std::optional<Instant> dueBesideCalls() const;
  Effects arrive(Call call, const Moment& now);

  LedgerState state_;
};

}  // namespace vfiogate
