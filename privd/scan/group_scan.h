#pragma once
// One IOMMU group from sysfs.

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

#include <optional>

namespace vfiogate {

/// Below the root of sysfs: a directory for each IOMMU group.
inline constexpr const char* kIommuGroups = "kernel/iommu_groups";

/// Null: there is no such group. Its use is not read: it is its members'.
std::optional<IommuGroup> readGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id);

/// On a kernel without vfio-dev (before 6.1): whether the drivers of the group's members offer
/// VFIO. Such a kernel shows that one of them does; they all do if they are one.
bool offersVfioByGroup(const SysfsRoot& sysfs, const Snapshot& snapshot, const IommuGroup& group);

/// The use of a group, from the members that `snapshot` has (ledger.md 3). A group without any that
/// we know is not idle for that: its list could not be read, or all of it is no PCI function.
GroupUse useOf(const Snapshot& snapshot, const IommuGroup& group);

}  // namespace vfiogate
