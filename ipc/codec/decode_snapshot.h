#pragma once
// Snapshots off the privilege line: every value checked once, here.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/result.h"
#include "ipc/types/snapshot_delta.h"

#include <map>
#include <string>

namespace vfiogate {

/// What was wrong with a message, for the log: "device 0000:01:00.0: class 0x1000000 has more than
/// 24 bits". Whoever sends one is hung up on.
struct DecodeError {
  std::string what;
};

/// The capabilities that came with groups.
using GroupControlClients = std::map<IommuGroupId, schema::GroupControl::Client>;

struct DecodedSnapshot {
  Snapshot snapshot;
  GroupControlClients controls;
};

struct DecodedDelta {
  std::uint64_t base;
  SnapshotDelta delta;
  GroupControlClients controls;  ///< of the changed groups
};

/// Errors: an address out of range, a number beyond its field's width, text above 4,096 bytes, a
/// list above 65,536 entries, a device or group twice.
Result<DecodedSnapshot, DecodeError> decodeSnapshot(schema::Snapshot::Reader from);
Result<DecodedDelta, DecodeError> decodeDelta(schema::Delta::Reader from);

}  // namespace vfiogate
