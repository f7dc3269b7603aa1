#pragma once
// What privd's record of allocations says where the kubelet's memory does not, or no longer.

#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/recorded_allocations.h"

namespace vfiogate {

/// At the start, before the checkpoint is read: what a foreign id may stand for that its resource
/// does not have by the configuration. It ends with the first version that does not have the id.
void restoreSuspicions(LedgerState& state, const RecordedAllocations& recorded);

/// At the start, after checkpoint, List and claims' specs were read: each recorded allocation that
/// none of them knows becomes a record again, and of the others what was known of them is:
/// reference, time, pod. Nothing of claims, whose specs are their record.
/// `listed`: the pods of the List that was read; null: none was.
void restoreAllocations(Turn& turn, const RecordedAllocations& recorded, const PodList* listed);

}  // namespace vfiogate
