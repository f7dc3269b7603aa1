#pragma once
// What keeps the scheduler from giving a device to a claim, beyond what it knows itself.

#include <chrono>
#include <optional>
#include <string>

#include "plugind/core/ledger/frames/occupancy.h"

namespace vfiogate {

/// Why, in one word, and since when. Both are of the state, so that a pool stays as it is with it.
struct Unavailable {
  /// "allocated" through the device plugin, "lingering", "foreign", "returning", "not-adopted",
  /// "privd-away", "flapping", "bind-failed", or a hardware's code such as "host-driver", "gone".
  std::string state;
  std::chrono::sys_seconds since;
};

/// Null: nothing does, or a claim holds the device's group, which the scheduler counts itself. But
/// what is gone is so whoever holds it. `occupancy`: of `state`.
std::optional<Unavailable> unavailability(const LedgerState& state, const Occupancy& occupancy,
                                          const ResourceName& resource, const Bdf& address);

/// A claim, prepared and not given back, holds the device's group.
bool isHeldByClaim(const LedgerState& state, const Bdf& address);

}  // namespace vfiogate
