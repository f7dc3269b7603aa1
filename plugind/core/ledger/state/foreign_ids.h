#pragma once
// Ids under our resources that name no unit: other plugins of the same name left them in the
// kubelet's memory. KubeVirt's own uses IOMMU group numbers, those of mediated devices UUIDs.

#include <optional>
#include <set>
#include <string>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// The unit that an id of the kubelet's memory names: any address; a UUID if it is here or was
/// allocated, as another plugin's may be of anything. Null: none.
std::optional<UnitId> unitNamed(const LedgerState& state, const std::string& id);

/// The resource is ours, or was when the kubelet's ids under its name were read last.
bool isServed(const LedgerState& state, const ResourceName& resource);

/// A device of this node may be known to the kubelet by it: one that is here under any resource,
/// or, under one of ours, an id of another plugin's.
bool mayNameOurs(const LedgerState& state, const std::string& resource, const std::string& id);

/// The devices that such an id stands for: those of the resource in the group of that number, or
/// all members where none is. Empty: it stands for nothing that is known here.
std::set<UnitId> devicesNamedBy(const LedgerState& state, const ResourceName& resource,
                                const std::string& id);

/// Notes which ids of our resources a version has that stand for nothing, or that earlier ones had
/// and whose pods may live (ledger.md 6), and tells what changed. `own`: this kubelet wrote it.
void noteForeignIds(Turn& turn, const CheckpointVersion& version, bool own);

/// The resource with such an id to which one of these devices belongs, or did since it has that id:
/// somebody may have it. Null:
/// there is none.
const ResourceName* suspectedIn(const LedgerState& state, const std::set<UnitId>& members);
/// Why nothing of that resource is free for sure, for people.
std::string suspicionText(const LedgerState& state, const ResourceName& resource);

}  // namespace vfiogate
