#pragma once
// Who has which device, by device: for questions about all of them at once.

#include <map>
#include <set>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Of one state; read while that stays as it is.
struct Occupancy {
  /// By resource: what a record of the kubelet's keeps Healthy in its frame, held or about to be.
  std::map<ResourceName, std::set<Bdf>> kept;
  /// The resources under whose names somebody has the device, or had it and has it open.
  std::map<Bdf, std::set<ResourceName>> names;
  /// Members of groups that are not free.
  std::set<Bdf> engaged;
};

Occupancy occupancyOf(const LedgerState& state);

/// The device's group is not free.
bool isEngaged(const LedgerState& state, const Occupancy& occupancy, const Bdf& id);

}  // namespace vfiogate
