#pragma once
// The CDI spec that a claim's Prepare wants.

#include "ipc/api/api_claim.h"
#include "ipc/types/claim_spec.h"
#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// `prepare`: the call for it whose spec the ledger asks to be written; it is in `state` still.
/// Each device is handed over as its resource and the claim's parameters want it, of whole groups
/// with all members that the resource has, by what privd saw last.
ClaimSpec claimSpecOf(const LedgerState& state, const Call& prepare, const AllocatedClaim& claim,
                      const DraSettings& dra);

}  // namespace vfiogate
