#pragma once
// The difference between two snapshots.

#include <vector>

#include "ipc/types/snapshot.h"

namespace vfiogate {

/// What turns one snapshot into a later one.
struct SnapshotDelta {
  std::vector<PciDevice> changed;  ///< added, or present before and different now
  std::vector<Bdf> removed;
  std::vector<IommuGroup> changedGroups;
  std::vector<IommuGroupId> removedGroups;
  bool controlNode = false;
  bool iommufdNode = false;
  bool vfioPci = false;
  SysfsWriting sysfsWriting = SysfsWriting::kUnknown;

  friend bool operator==(const SnapshotDelta&, const SnapshotDelta&) = default;
};

/// The delta for which `apply(before, delta) == after`.
SnapshotDelta diff(const Snapshot& before, const Snapshot& after);

/// The snapshot that `delta` makes of `before`. What is removed and not there is no error.
Snapshot apply(Snapshot before, const SnapshotDelta& delta);

}  // namespace vfiogate
