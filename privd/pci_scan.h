#pragma once
// sysfs and /dev, read into a Snapshot.

#include "ipc/types/snapshot.h"
#include "privd/sysfs_root.h"

namespace vfiogate {

/// All PCI functions and IOMMU groups. Never fails: what cannot be read is absent and named in the
/// device's problems, and a device that vanishes while it is read is not in the snapshot. Reads
/// neither `uevent` nor `driver_override`: on kernel 6.1 both hang while somebody unbinds a device
/// that is in use.
Snapshot scan(const SysfsRoot& sysfs, const DevRoot& dev);

/// One group and its members, read now. Without the group if it is not there.
Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId group);

}  // namespace vfiogate
