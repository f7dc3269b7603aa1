#pragma once
// When to reconcile with the kubelet's memory (ledger.md 4), as decisions.

#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/recorded_allocations.h"

namespace vfiogate {

/// A reason to reconcile came up; the reconcile is made when the last one is kReconcileInterval
/// past.
void wantReconcile(Turn& turn);
/// A reconcile inside a call: now, or when the running one is done, which began too early.
void reconcileInCall(Turn& turn, Call& call);

/// When the next reconcile outside calls is due; absent: nothing asks for one.
std::optional<Instant> reconcileDue(const LedgerState& state);
/// The same of one record.
std::optional<Instant> reconcileDueFor(const LedgerState& state, const HolderRecord& record);
/// When List alone is due: it tells of pods that ended.
std::optional<Instant> listDue(const LedgerState& state);

/// Step 2 of adoption is done.
void adopt(Turn& turn);

/// The same where no resource is shown to the kubelet, because none has a device here or all are
/// for claims: without a frame no reconcile proves anything. What the plugind before us answered is
/// recorded by kAdoptionWait, and nothing was where the kubelet has none of our devices registered.
void adoptWithoutFrames(Turn& turn);

/// The same where privd's record holds what the plugind before us answered, named by the kubelet or
/// not: `recorded` is complete, or was begun before the kubelet had a device of ours registered.
void adoptByRecord(Turn& turn, const RecordedAllocations& recorded);

/// Begins what is due now, one at a time.
void beginDueReconcile(Turn& turn);

/// A reconcile ended. `proved`: List, stream and two versions were all there.
void endReconcile(Turn& turn, bool proved);

}  // namespace vfiogate
