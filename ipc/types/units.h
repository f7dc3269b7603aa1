#pragma once
// The units of allocation in a snapshot.

#include <optional>
#include <set>

#include "ipc/types/snapshot.h"
#include "ipc/types/unit_id.h"

namespace vfiogate {

/// Null: it is gone, or no PCI function.
const PciDevice* functionOf(const Snapshot& snapshot, const UnitId& id);

/// Null: it is gone, or no mediated device.
const MediatedDevice* mediatedOf(const Snapshot& snapshot, const UnitId& id);

/// True if the snapshot has it.
bool isPresent(const Snapshot& snapshot, const UnitId& id);

/// Absent: it is gone, or in no group.
std::optional<IommuGroupId> groupOf(const Snapshot& snapshot, const UnitId& id);

/// False: it is gone, or its configuration space reads all ones.
bool answers(const Snapshot& snapshot, const UnitId& id);

/// Of a mediated device its parent's; absent: it is gone, or on none.
std::optional<std::uint32_t> numaNodeOf(const Snapshot& snapshot, const UnitId& id);

/// The PCIe root complex, "pci0000:17", of a mediated device its parent's; empty: not known.
std::string pcieRootOf(const Snapshot& snapshot, const UnitId& id);

/// All that the group has; none where there is no such group.
std::set<UnitId> unitsOf(const IommuGroup& group);
std::set<UnitId> unitsOf(const Snapshot& snapshot, IommuGroupId group);

}  // namespace vfiogate
