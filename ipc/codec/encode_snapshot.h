#pragma once
// Snapshots and updates, from our types into the schema's.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/snapshot.h"
#include "ipc/types/snapshot_delta.h"

#include <kj/function.h>

namespace vfiogate {

/// The authority over a group that goes down with it, or null where the connection may only watch.
using ControlOf = kj::FunctionParam<kj::Maybe<schema::GroupControl::Client>(const IommuGroup&)>;

/// The ControlOf of a connection that may only watch.
kj::Maybe<schema::GroupControl::Client> noControl(const IommuGroup& group);

/// Writes `snapshot` whole. What is beyond the bounds of snapshot_limits.h is cut off, so that one
/// absurd attribute costs the reader that attribute and not the snapshot.
void encode(const Snapshot& snapshot, schema::Snapshot::Builder out, ControlOf controlOf);

/// Writes `update`, with the same bounds.
void encode(const Update& update, schema::Update::Builder out, ControlOf controlOf);

}  // namespace vfiogate
