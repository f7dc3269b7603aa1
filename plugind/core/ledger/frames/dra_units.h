#pragma once
// `groupUnit: whole` for claims: which device of each group stands for it in the pool.

#include <set>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Chooses the units again. One that was chosen stays, as names of devices should: another one
/// takes over only where it goes, or where somebody holds the group by another device. After
/// makeFrames(), so that both paths show the same one.
void keepDraUnits(Turn& turn);

const std::set<Bdf>& draUnitsOf(const LedgerState& state, const ResourceName& resource);

}  // namespace vfiogate
