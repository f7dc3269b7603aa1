#pragma once
// How each device of a claim is allocated: as its resource says, and as the claim's parameters
// want.

#include "plugind/core/ledger/state/calls.h"
#include "plugind/core/ledger/state/hardware_facts.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {

/// One device of a claim.
AllocationSettings allocationToClaim(const ResourceCatalog& catalog, const PrepareRequest& request,
                                     const ResourceName& resource, const Bdf& id);

/// V of those of the claim's devices that are among `ids`, all in one group: the worst of them. A
/// claim has a spec of its own; the static one is the device plugin's.
GroupReadiness judgeForClaim(const HardwareFacts& facts, const ResourceCatalog& catalog,
                             const PrepareRequest& request, const std::set<Bdf>& ids,
                             HeldBy held = HeldBy::kNobody);

/// The nodes through which the claim reaches those of its devices that are in `facts`, each once.
/// Error: the bar of the first that cannot be allocated.
Result<std::vector<std::string>, Bar> nodesForClaim(const HardwareFacts& facts,
                                                    const ResourceCatalog& catalog,
                                                    const PrepareRequest& request);

}  // namespace vfiogate
