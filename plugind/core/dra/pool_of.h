#pragma once
// The node's pool of devices, as the scheduler shall see it, made anew from the ledger's state.

#include <string>

#include "ipc/api/device_pool.h"
#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// The same state makes the same pool.
///
/// In it: the devices of resources that are served through DRA, of `groupUnit: whole` one for each
/// group; and, whatever becomes of hardware and configuration, what claims hold: the counters of a
/// device count only while it is published (kubelet-contract.md T39). Each consumes the counter of
/// its IOMMU group. What cannot be had is tainted, not left out.
///
/// `server` without counters: one device of each group, or those that claims hold, and no counters:
/// it drops them, or refuses a pool that has some. Without taints: what would
/// be tainted is left out, unless a claim holds its group.
DevicePool poolOf(const Settings& settings, const LedgerState& state, const std::string& poolName,
                  const KeptFields& server);

}  // namespace vfiogate
