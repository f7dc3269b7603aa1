#pragma once
// Which devices hardware and configuration let us offer, told when that changes; and those that
// change too often to be offered.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Compares with what was told before: one journal line for each reason. `flips`: what changed is
/// the hardware's doing, so it counts for those that flap. After the facts or the catalogue
/// changed.
void tellOffers(Turn& turn, bool flips);
/// Those that have been steady long enough are offered again.
void endRests(Turn& turn);
std::optional<Instant> restDue(const LedgerState& state);

/// They could not be bound: they rest, so that the next pod is not sent into the same wall.
void restUnbound(Turn& turn, const std::set<Bdf>& members);

/// The device came and went too often, or could not be bound, and rests: it is shown Unhealthy
/// unless held.
bool isResting(const LedgerState& state, const Bdf& id);
/// The latter.
bool restsUnbound(const LedgerState& state, const Bdf& id);

}  // namespace vfiogate
