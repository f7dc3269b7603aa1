#pragma once
// Orders to change drivers and the reports on them: both ways, every value checked once.

#include "ipc/codec/decode_snapshot.h"
#include "ipc/types/binding_change.h"

namespace vfiogate {

/// Of an order: addresses, and overrides.
constexpr std::uint32_t kMostOrdered = 256;

void encode(const ChangeOrder& order, schema::ChangeOrder::Builder out);
/// Cuts texts and lists at the bounds of snapshot_limits.h.
void encode(const ChangeReport& report, schema::ChangeReport::Builder out);

/// Refuses an order without address or above kMostOrdered, a driver that isDriverName() does not
/// know, and what an unbind does not take.
Result<ChangeOrder, DecodeError> decode(schema::ChangeOrder::Reader in);

/// Refuses what is above the bounds of snapshot_limits.h, and words that are not known.
Result<ChangeReport, DecodeError> decode(schema::ChangeReport::Reader in);

}  // namespace vfiogate
