#pragma once
// The health of the devices of a pool.

#include "ipc/api/device_pool.h"
#include "plugind/core/dra/device_health.h"
#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Health stands in the status of pods that use a device, and nobody else sees it: what a claim
/// holds is healthy unless it is gone or does not answer. Unknown while privd is away for longer
/// than `grace`.
HealthFrame healthOf(const LedgerState& state, const DevicePool& pool);

}  // namespace vfiogate
