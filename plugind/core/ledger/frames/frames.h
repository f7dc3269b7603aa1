#pragma once
// What every resource shows the kubelet (ledger.md 8), made anew from state plus what was shown.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Makes the frames again. Those that changed are effects of the turn.
void makeFrames(Turn& turn);

/// When the 60 s or the 10 s rule changes a frame next.
std::optional<Instant> framesDue(const LedgerState& state);

/// The frame that a resource shows now.
Frame frameOf(const ShownResource& shown);

}  // namespace vfiogate
