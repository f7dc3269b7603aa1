#pragma once
// The difference between two snapshots.

#include <cstdint>
#include <variant>
#include <vector>

#include "ipc/types/snapshot.h"

namespace vfiogate {

/// What turns one snapshot into a later one, but for what the binder and the gate tell:
/// sysfsWriting stays as it is, and a changed group comes with the binding that it has here.
struct SnapshotDelta {
  std::vector<PciDevice> changed;  ///< added, or present before and different now
  std::vector<Bdf> removed;
  std::vector<IommuGroup> changedGroups;
  std::vector<IommuGroupId> removedGroups;
  std::vector<MediatedDevice> changedMediated;
  std::vector<Uuid> removedMediated;
  std::vector<EgmRegion> egm;  ///< all of them, as they are now
  bool controlNode = false;
  bool iommufdNode = false;
  bool vfioPci = false;

  friend bool operator==(const SnapshotDelta&, const SnapshotDelta&) = default;
};

/// The delta for which `apply(before, delta) == after`, of snapshots with the same sysfsWriting.
SnapshotDelta diff(const Snapshot& before, const Snapshot& after);

/// The snapshot that `delta` makes of `before`. What is removed and not there is no error.
Snapshot apply(Snapshot before, const SnapshotDelta& delta);

/// The changes since a generation that the watcher took before.
struct UpdateDelta {
  std::uint64_t base = 0;  ///< the generation to which `changes` apply
  SnapshotDelta changes;

  friend bool operator==(const UpdateDelta&, const UpdateDelta&) = default;
};

/// The hardware at one generation: the whole of it, or what changed. A generation means nothing
/// outside its epoch, which is drawn anew at every start of privd.
struct Update {
  std::uint64_t epoch = 0;
  std::uint64_t generation = 0;
  std::variant<Snapshot, UpdateDelta> content;

  friend bool operator==(const Update&, const Update&) = default;
};

}  // namespace vfiogate
