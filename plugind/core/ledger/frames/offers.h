#pragma once
// A request for devices, split by group and read against what is shown and what there is.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// The part of a request that lies in one group.
struct Offer {
  ResourceName resource;
  AllocationSettings allocation;
  std::optional<IommuGroupId> group;  ///< absent: the device has none, or is gone
  std::set<Bdf> ids;
  std::set<Bdf> members;  ///< of the group
  GroupReadiness readiness;

  RefusedDevice device() const { return {*ids.begin(), group}; }
};

/// Error: row 3.
Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const AllocateRequest& request);
/// Error: a device that claims may not have, or none at all.
Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const PrepareRequest& request);

/// How a resource is allocated; the default for one that is no longer configured.
AllocationSettings allocationOf(const LedgerState& state, const ResourceName& resource);

/// What the ids hand over: themselves, or (unit `whole`) all matching members of their groups.
std::set<Bdf> handedOver(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                         const ResourceName& resource, const std::set<Bdf>& ids);

}  // namespace vfiogate
