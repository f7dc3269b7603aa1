#pragma once
// sysfs and /dev, read into a Snapshot: all of it, or the places where something may have changed.

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

#include <set>

namespace vfiogate {

/// Where to read. A device's groups, before and after, are looked at with it, and what a group got
/// or lost is looked at with the group.
struct Places {
  std::set<Bdf> devices;
  std::set<IommuGroupId> groups;

  bool empty() const { return devices.empty() && groups.empty(); }
  std::size_t size() const { return devices.size() + groups.size(); }
  void add(const Places& more);

  friend bool operator==(const Places&, const Places&) = default;
};

/// Everything that sysfs lists now. Error: devices or groups cannot even be listed, which must not
/// look like a machine without any; a sysfs that has none is no error.
Result<Places, ReadError> placesOf(const SysfsRoot& sysfs);
/// Everything that `seen` has.
Places placesOf(const Snapshot& seen);

/// Reads these places anew and puts what is there now into `seen`; what is not there leaves it.
/// What cannot be read of a device is absent and named in its problems, and a group whose use
/// cannot be told is kUnknown. Reads neither `uevent` nor `driver_override`: on kernel 6.1 both
/// hang while somebody unbinds a device that is in use. Returns true if `seen` is another than
/// before.
bool reread(const SysfsRoot& sysfs, const DevRoot& dev, const Places& where, Snapshot& seen);

/// All PCI functions and IOMMU groups. Error: as placesOf().
Result<Snapshot, ReadError> scan(const SysfsRoot& sysfs, const DevRoot& dev);

/// One group and its members, read now. Without the group if it is not there.
Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId group);

}  // namespace vfiogate
