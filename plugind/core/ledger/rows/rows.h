#pragma once
// The transition table of ledger.md 7: each function decides the rows that it names.
// What a granted call hands over.
// What is at a device's address now, by a reread of privd's made for the call: events may be lost
// (I9), and an address is not a device.

#include "plugind/core/bind_outcome.h"
#include "plugind/core/ledger/state/ledger_state.h"

#include <map>
#include <set>
#include <string>

namespace vfiogate {

// Allocate and Prepare: rows_take.cc
/// Rows 1 to 13: judges a call, for the first time or anew.
void judgeCall(Turn& turn, CallId id);

// Their outcome: rows_outcome.cc
/// Rows 14 to 18, once privd has answered for every group of the call.
void settleCall(Turn& turn, CallId id);
/// Grants a call whose groups were all found good (rows 14, 15).
void grantCall(Turn& turn, CallId id);
/// The spec of a claim's call is on disk, or could not be written.
void endWriting(Turn& turn, CallId id, bool written);
/// Row 18 and every other refusal: each group returns to what it was before.
void refuseCall(Turn& turn, CallId id, const Refusal& refusal);
/// The call is answered without a response: a PreStart or an Unprepare that went well.
void endCall(Turn& turn, CallId id);
/// Of an Allocate or a PreStart of tickets alone, whatever else is known: nothing is handed over.
void answerTickets(Turn& turn, CallId id);
/// Row 18: what the deadline ends.
void expireCalls(Turn& turn);

// KubeletEntry: rows_naming.cc, reconcile.cc
/// One container's devices of one resource, by whatever source.
struct KubeletEntry {
  ResourceName resource;
  std::set<UnitId> ids;
  std::optional<std::string> podUid;
  std::optional<std::string> podName;
  std::optional<ClaimName> claim;
  std::optional<WallTime> written;  ///< of the version it comes from
  std::optional<Instant> asked;     ///< when the List it comes from was begun
  std::uint64_t epochsAgo = 0;      ///< how many kubelets ago it was read; 2: or more
  std::set<std::string> refs{};     ///< of the grants that the kubelet recorded, where it says so
  bool byForeignIds = false;        ///< the kubelet's memory has ids that are no addresses
  std::map<UnitId, std::string> sets{};  ///< of those of `ids` that are had by a set: its id
  bool joinsRest = false;  ///< in a reconcile: ids of `rest` under the pod's UID join (row 24)
};
/// Rows 19 to 24.
void name(Turn& turn, const KubeletEntry& naming);
/// The devices of a version that are ours, those of one pod and resource together.
std::vector<KubeletEntry> entriesOf(const LedgerState& state, const CheckpointVersion& version);
std::vector<KubeletEntry> entriesOf(const LedgerState& state, const PodList& list);
/// Keeps a version as this kubelet's, or as what it inherited. True: this one wrote it.
bool keepVersion(LedgerState& state, const CheckpointVersion& version);
/// A version of the checkpoint: presence counts always, absence only `inReconcile` (rows 19 to 24,
/// 28). `asked`: when it was begun to be read, where that is known.
void readVersion(Turn& turn, const CheckpointVersion& version, bool inReconcile,
                 std::optional<Instant> asked);
/// Who is named by what this kubelet inherited, and so has a record or had one.
void noteInherited(LedgerState& state);
/// A new kubelet came up: what the one before wrote last is what it inherits.
void inheritVersion(LedgerState& state, Instant now);
/// The version read last, now that other devices or names may be ours: who is in it has them.
void readAgain(Turn& turn);
/// `asked`: when the List was begun.
void readList(Turn& turn, const PodList& list, Instant asked);

// Release: rows_release.cc
/// Rows 25 to 30 and 46 for everything that is let go.
void settleReleases(Turn& turn);
/// Asks privd about what is let go, or opened by strangers, when that is due.
void askUse(Turn& turn);
/// When something above, which only time brings about, is due.
std::optional<Instant> releaseDue(const LedgerState& state);
/// Ends a record; the group is free, returning or the others'. `reason`: the row's reason code.
void endRecord(Turn& turn, std::size_t index, const std::string& reason);
/// What the two release rules say of a record: the kubelet, or the claim's owner, has let go.
bool isReleased(const LedgerState& state, const HolderRecord& record);
bool isForgotten(const LedgerState& state, const HolderRecord& record);
bool isLetGo(const LedgerState& state, const HolderRecord& record, Instant now);
/// Puts a group on its way back to its host driver.
void startReturn(Turn& turn, const std::set<UnitId>& members);

// Binding: rows_binding.cc
/// privd has looked at a group that a call takes: what it was offered as may be bound for it.
void beginBind(Turn& turn, Call& call, IommuGroupId group);
/// A bind ended: the calls that wait for it go on, or are refused (row 18).
void endBind(Turn& turn, IommuGroupId group, const BindOutcome& outcome);
/// Row 47.
void endReturn(Turn& turn, IommuGroupId group, const BindOutcome& outcome);
/// Row 49: what was going back when privd went is back by now, or goes again.
void resumeReturns(Turn& turn);

// Hardware: rows_hardware.cc
/// Rows 31 to 34, and 49 if privd was away.
void foldHardware(Turn& turn, HardwareFacts facts, ResourceCatalog catalog);
void foldReading(Turn& turn, const GroupReading& reading);
/// Row 31: free groups that strangers have open. `atOnce`: at adoption one reading is enough.
void markForeign(Turn& turn, bool atOnce);
/// Row 48.
void losePrivd(Turn& turn);
void closeAllocation(LedgerState& state);
std::vector<CallId> callsAt(const LedgerState& state, CallStage stage);
/// What a call waited for may be there. Nothing if it was answered meanwhile.
void judgeAnew(Turn& turn, CallId id);
/// Row 50.
void changeEpoch(Turn& turn, const KubeletIdentity& kubelet);

// PreStartContainer: rows_start.cc
/// Rows 36 to 41.
void judgeStart(Turn& turn, CallId id);

// DRA: rows_claim.cc
/// Row 6. True: the call was answered.
bool judgeAgain(Turn& turn, CallId id);
/// Rows 42 to 44.
void judgeUnprepare(Turn& turn, CallId id);
void settleUnprepare(Turn& turn, CallId id);
/// The spec is gone from disk, or could not be unlinked: what waited for it ends.
void endUnlinking(Turn& turn, const std::string& claimUid, bool unlinked);
/// Its spec could not be unlinked, and that was tried less than 5 s ago.
bool restsAfterUnlink(const LedgerState& state, const std::string& claimUid, Instant now);
/// Specs of refused calls that could not be unlinked, which no record stands for: every 5 s, and
/// when privd is back (row 49).
void unlinkLeft(Turn& turn);
/// Row 46: the API server was asked. `ours`: the claim is there and allocated to us.
void checkClaim(Turn& turn, const std::string& claimUid, bool ours);
/// Row 45: the next call that waited for one about this claim.
void startQueued(Turn& turn, const ClaimName& claim);

/// Through which of the kubelet's two allocators a holder got its group, for a refusal. Empty where
/// both parties use the device plugin, as most do.
std::string pathText(bool ofClaim, const Call& asker);
/// Rows 4 and 37: what is being allocated, or given back.
Refusal refuseTaken(const RefusedDevice& device, const Take& take, const Call& asker);
/// A refusal that a holder stands behind: by reference, or in full where the settings say so.
Refusal refuseHeld(const LedgerState& state, const RefusedDevice& device, const std::string& text,
                   const std::string& reason, const std::vector<std::size_t>& holders);
Refusal refuseBarred(const RefusedDevice& device, const Bar& bar);

/// The hardware of one group as privd saw it, with what only the whole snapshot says.
HardwareFacts rereadOf(const HardwareFacts& hardware, const Snapshot& seen);
/// Another group of the same call with it.
void addGroup(HardwareFacts& facts, const Snapshot& seen);

/// The hardware of all taken groups of a call together.
HardwareFacts allReread(const LedgerState& state, const Call& call);

/// The response to a call whose groups were all seen. Error: what bars one of them.
Result<AllocationResponse, Bar> answerOf(const LedgerState& state, const Call& call);

/// What keeps `ids` from being handed over by name: the resource's static spec does not have the
/// nodes of each as `hardware` has them. Null: nothing.
std::optional<Bar> barFromSpecs(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                                const ResourceName& resource, const std::set<UnitId>& ids);

/// Asks privd about the groups of `ids`, which the call's party holds already. True: it has
/// answered for all of them. False: the call waits.
bool isChecked(Turn& turn, CallId id, const std::set<UnitId>& ids);
/// privd answered for a group of such a call. True: for the last one.
bool noteCheck(Call& call, IommuGroupId group, const GroupReading& reading);
/// The hardware that privd saw for such a call, with what only the whole snapshot says.
HardwareFacts checkedHardware(const LedgerState& state, const Call& call);

/// Rows 18 and 43: nothing tells whether it is open.
Refusal refuseUntold(const RefusedDevice& device, GroupUse use, const GroupReading& reading);
/// Row 18 for a reread that was not made. Null: it was.
std::optional<Refusal> refuseUnseen(const RefusedDevice& device,
                                    const std::optional<GroupReading>& reading);
/// The same for each group of a call that was checked.
std::optional<Refusal> refuseUnchecked(const LedgerState& state, const Call& call);
/// Other hardware is at an address than the fingerprint says. `was`: what had happened to that,
/// such as "allocated". Null: none is; what is gone is not judged here.
std::optional<Refusal> refuseOther(const HardwareFacts& present, const std::string& fingerprint,
                                   const std::string& was);
/// A re-offer of devices that the record's resource does not have now: they are other hardware than
/// was allocated, or nobody knows what that was. Null: neither.
std::optional<Refusal> refuseReplaced(const LedgerState& state, const HolderRecord& record,
                                      const std::set<UnitId>& ids);

}  // namespace vfiogate
