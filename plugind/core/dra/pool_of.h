#pragma once
// The node's pool of devices, as the scheduler shall see it, made anew from the ledger's state.
// What keeps the scheduler from giving a device to a claim, beyond what it knows itself.

#include "ipc/api/device_pool.h"
#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/state/ledger_state.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfiogate {

/// The same state makes the same pool.
///
/// In it: the devices of resources that are served through DRA, of `groupUnit: whole` one for each
/// group, of sets each set, which consumes the counters of all its groups; and, whatever becomes of
/// hardware and configuration, what claims hold: the counters of a device count only while it is
/// published (kubelet-contract.md T39). Each consumes the counter of its IOMMU group. What cannot
/// be had is tainted, not left out.
///
/// `server` without counters: one device of each group, or those that claims hold, and no counters:
/// it drops them, or refuses a pool that has some. Without taints: what would
/// be tainted is left out, unless a claim holds its group.
DevicePool poolOf(const Settings& settings, const LedgerState& state, const std::string& poolName,
                  const KeptFields& server);

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
                                          const ResourceName& resource, const UnitId& address);

/// A claim, prepared and not given back, holds the device's group.
bool isHeldByClaim(const LedgerState& state, const UnitId& address);

}  // namespace vfiogate
