#pragma once
// Resources that have nothing left to show, and those that were moved to claims.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Ends the resources that have had nothing in their frame, and nothing that may come back, for as
/// long as the settings let them stay. After makeFrames().
void endEmpty(Turn& turn);
/// When one is due.
std::optional<Instant> emptyDue(const LedgerState& state);

/// What the plugind before us had registered and is for claims only now is registered once more,
/// empty, to end with other options. Before the first frames.
void showMoved(LedgerState& state, const ResourceName& resource);
/// False: the kubelet shall start containers without PreStartContainer. So it is for a resource
/// that is for claims only, and that nobody holds through the kubelet any more: a pod whose claim
/// the scheduler made for the resource's name has nothing recorded there, and would not start until
/// the kubelet has forgotten the resource, 5 min after its end.
bool wantsPreStart(const LedgerState& state, const ResourceName& resource);

}  // namespace vfiogate
