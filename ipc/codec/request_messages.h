#pragma once
// Requests of peers: orders to change drivers with the reports on them, both ways, and CDI specs
// that plugind asks for. Every value is checked once.

#include "ipc/codec/snapshot_codec.h"
#include "ipc/types/binding_change.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/static_spec.h"

#include <vector>

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

using StaticSpecList = capnp::List<schema::StaticSpec>;

/// Refuses more than static_spec.h allows, a resource named twice, devices out of order, and ways
/// that are not known. Names are the caller's to judge.
Result<std::vector<StaticSpec>, DecodeError> decode(StaticSpecList::Reader in);

/// A claim's, names and all: refuses what claim_spec.h finds a fault in, too.
Result<ClaimSpec, DecodeError> decode(schema::ClaimSpec::Reader in);

}  // namespace vfiogate
