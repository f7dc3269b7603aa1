#pragma once
// sysfs and /dev, read into a Snapshot.

#include "ipc/types/snapshot.h"
#include "privd/sysfs_root.h"

namespace vfiogate {

/// All PCI functions and IOMMU groups. What cannot be read of a device is absent and named in its
/// problems, a device that vanishes while it is read is not in the snapshot, and a group whose use
/// cannot be told is kUnknown. Error: devices or groups cannot even be listed, which must not look
/// like a machine without any; a sysfs that has none is no error. Reads
/// neither `uevent` nor `driver_override`: on kernel 6.1 both hang while somebody unbinds a device
/// that is in use.
Result<Snapshot, ReadError> scan(const SysfsRoot& sysfs, const DevRoot& dev);

/// One group and its members, read now. Without the group if it is not there.
Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId group);

}  // namespace vfiogate
