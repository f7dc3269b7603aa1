#pragma once
// Snapshots onto the privilege line.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/snapshot_delta.h"

#include <functional>

namespace vfiogate {

/// The capability that goes with a group; null: the peer gets none.
using ControlFor = std::function<kj::Maybe<schema::GroupControl::Client>(const IommuGroup&)>;

void encodeSnapshot(const Snapshot& snapshot, schema::Snapshot::Builder to,
                    const ControlFor& controlFor = nullptr);

/// `base`: the generation to which the delta applies.
void encodeDelta(std::uint64_t base, const SnapshotDelta& delta, schema::Delta::Builder to,
                 const ControlFor& controlFor = nullptr);

}  // namespace vfiogate
