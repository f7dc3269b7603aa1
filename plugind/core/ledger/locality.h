#pragma once
// Where the devices of one resource lie, beside each other and beside what else is there.

#include <map>
#include <set>
#include <string>

#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/resource/preferred_allocation.h"

namespace vfiogate {

/// What a choice among devices of one resource depends on, but for the question itself.
struct Locality {
  std::map<std::string, Candidate> candidates;  ///< every device of the node
  /// What was granted within the last second and is not on the kubelet's record yet: the kubelet
  /// admits one pod after the other, so most likely the same container's. Only where some resource
  /// says `alignWith`.
  std::set<std::string> beside;

  friend bool operator==(const Locality&, const Locality&) = default;
};

/// With `alignWith: nic`, a device is beside a network card if one that is offered and free is
/// below the same PCIe root.
Locality localityOf(const LedgerState& state, const ResourceName& resource, Instant now);

}  // namespace vfiogate
