#pragma once
// Which devices a resource advertises: the representatives, all, or one per group.

#include "plugind/core/ledger/frames/occupancy.h"

namespace vfiogate {

/// The devices that stand in the resource's frame for their groups (ledger.md 8, `groupUnit`).
std::set<Bdf> advertisedIn(const LedgerState& state, const Occupancy& occupancy,
                           const ResourceName& resource);

}  // namespace vfiogate
