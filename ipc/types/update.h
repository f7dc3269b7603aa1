#pragma once
// What a watcher of the hardware is told, one update at a time.

#include <cstdint>
#include <variant>

#include "ipc/types/snapshot.h"
#include "ipc/types/snapshot_delta.h"

namespace vfiogate {

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
