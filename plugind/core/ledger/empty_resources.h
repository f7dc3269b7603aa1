#pragma once
// Resources that have nothing left to show.

#include "plugind/core/ledger/ledger_state.h"

namespace vfiogate {

/// Ends the resources that have had nothing in their frame, and nothing that may come back, for as
/// long as the settings let them stay. After makeFrames().
void endEmpty(Turn& turn);
/// When one is due.
std::optional<Instant> emptyDue(const LedgerState& state);

}  // namespace vfiogate
