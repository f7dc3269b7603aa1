#pragma once
// A request for devices, split by group and read against what is shown and what there is.
// How each device of a claim is allocated: as its resource says, and as the claim's parameters
// want.

#include "plugind/core/ledger/state/calls.h"
#include "plugind/core/ledger/state/hardware_facts.h"
#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {

/// One device of a claim.
AllocationSettings allocationToClaim(const ResourceCatalog& catalog, const PrepareRequest& request,
                                     const ResourceName& resource, const UnitId& id);

/// V of those of the claim's devices that are among `ids`, all in one group: the worst of them. A
/// claim has a spec of its own; the static one is the device plugin's.
GroupReadiness judgeForClaim(const HardwareFacts& facts, const ResourceCatalog& catalog,
                             const PrepareRequest& request, const std::set<UnitId>& ids,
                             HeldBy held = HeldBy::kNobody);

/// The nodes through which the claim reaches those of its devices that are in `facts`, each once.
/// Error: the bar of the first that cannot be allocated.
Result<std::vector<std::string>, Bar> nodesForClaim(const HardwareFacts& facts,
                                                    const ResourceCatalog& catalog,
                                                    const PrepareRequest& request);

/// The part of a request that lies in one group.
struct Offer {
  ResourceName resource;
  AllocationSettings allocation;
  std::optional<IommuGroupId> group;  ///< absent: the device has none, or is gone
  std::set<UnitId> ids;
  std::set<UnitId> members;  ///< of the group
  GroupReadiness readiness;
  std::string set{};  ///< the id of the set that `ids` are of; empty: of none

  RefusedDevice device() const { return {*ids.begin(), group}; }
};

/// Error: row 3.
Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const AllocateRequest& request);
/// What the configuration has against devices of one group, `set` the set that they are of. A
/// record may have some that are in no resource now. Of a set: one is excluded, or may be, or is no
/// endpoint. Of others: one is excluded, or may be.
std::optional<Bar> barOfLeftOut(const LedgerState& state, const std::set<UnitId>& ids,
                                const std::string& set);
/// Row 3a: one of the claim's devices among `ids` is there, and its resource does not have it any
/// more, as the claim asked for it when it came. Null: none is.
std::optional<Refusal> refuseMoved(const LedgerState& state, const PrepareRequest& request,
                                   const std::set<UnitId>& ids);
/// Error: a device that claims may not have or that its resource has no longer, or none at all.
Result<std::vector<Offer>, Refusal> offersOf(const LedgerState& state,
                                             const PrepareRequest& request);

/// How a resource is allocated; the default for one that is no longer configured.
AllocationSettings allocationOf(const LedgerState& state, const ResourceName& resource);

/// The devices of what an id of a whole group stands for, the id's own among them: the matching
/// members of its group. Of any other resource the id's own alone.
std::set<UnitId> unitOfId(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                          const ResourceName& resource, const UnitId& id);

/// What the ids hand over: themselves, or (unit `whole`) all matching members of their groups.
std::set<UnitId> handedOver(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                            const ResourceName& resource, const std::set<UnitId>& ids);

}  // namespace vfiogate
