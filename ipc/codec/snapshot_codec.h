#pragma once
// Snapshots and updates, from our types into the schema's and back, every value checked once.

#include "ipc/base/result.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/types/snapshot.h"
#include "ipc/types/snapshot_delta.h"

#include <kj/function.h>

#include <map>
#include <string>

namespace vfiogate {

/// The authority over a group that goes down with it, or null where the connection may only watch.
using ControlOf = kj::FunctionParam<kj::Maybe<schema::GroupControl::Client>(const IommuGroup&)>;

/// The ControlOf of a connection that may only watch.
kj::Maybe<schema::GroupControl::Client> noControl(const IommuGroup& group);

/// Writes `snapshot` whole, without what the binder and the gate tell: the groups' bindings and
/// sysfsWriting, which are as untold where it is read. What is beyond the bounds of
/// snapshot_limits.h is cut off, so that one absurd attribute costs the reader that attribute and
/// not the snapshot.
void encode(const Snapshot& snapshot, schema::Snapshot::Builder out, ControlOf controlOf);

/// Writes `update`, with the same bounds.
void encode(const Update& update, schema::Update::Builder out, ControlOf controlOf);

/// Why a message was refused whole: the field, its value and the bound, for the log, such as
/// "devices[3].classCode is 16777216, above 16777215".
struct DecodeError {
  std::string what;
  friend bool operator==(const DecodeError&, const DecodeError&) = default;
};

/// The authority that came with each group; nothing for a connection that may only watch.
using GroupControlClients = std::map<IommuGroupId, schema::GroupControl::Client>;

struct DecodedSnapshot {
  Snapshot snapshot;
  GroupControlClients controls;
};

struct DecodedUpdate {
  Update update;
  GroupControlClients controls;
};

/// Reads a snapshot. Refuses what is out of the range of its type or of snapshot_limits.h, a device
/// or group named twice, members out of order, and pointers that lead nowhere.
Result<DecodedSnapshot, DecodeError> decode(schema::Snapshot::Reader in);

/// Reads an update, with the same checks; a delta must lead from an older generation to its own and
/// may not both change and remove a thing.
Result<DecodedUpdate, DecodeError> decode(schema::Update::Reader in);

}  // namespace vfiogate
