#pragma once
// When to look into the kubelet's memory (ledger.md 4), as decisions.

#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/recorded_allocations.h"

namespace vfiogate {

/// A reason to look came up; the look is made when the last one is kLookInterval past.
void wantLook(Turn& turn);
/// A look inside a call: now, or when the running one is done, which began too early.
void lookInCall(Turn& turn, Call& call);

/// When the next look outside calls is due; absent: nothing asks for one.
std::optional<Instant> lookDue(const LedgerState& state);
/// The same of one record.
std::optional<Instant> lookDueFor(const LedgerState& state, const HolderRecord& record);
/// When List alone is due: it tells of pods that ended.
std::optional<Instant> listDue(const LedgerState& state);

/// Step 2 of adoption is done.
void adopt(Turn& turn);

/// The same where no resource is shown to the kubelet, because none has a device here or all are
/// for claims: without a frame no look proves anything. What the plugind before us answered is
/// recorded by kAdoptionWait, and nothing was where the kubelet has none of our devices registered.
void adoptWithoutFrames(Turn& turn);

/// The same where privd's record holds what the plugind before us answered, named by the kubelet or
/// not: `recorded` is complete, or was begun before the kubelet had a device of ours registered.
void adoptByRecord(Turn& turn, const RecordedAllocations& recorded);

/// Begins what is due now, one look at a time.
void beginDueLook(Turn& turn);

/// A look ended. `proved`: List, stream and two versions were all there.
void endLook(Turn& turn, bool proved);

}  // namespace vfiogate
