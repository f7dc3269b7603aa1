#pragma once
// CDI specs that plugind asks for, out of the schema's form, every value checked once.

#include "ipc/codec/decode_snapshot.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/static_spec.h"

#include <vector>

namespace vfiogate {

using StaticSpecList = capnp::List<schema::StaticSpec>;

/// Refuses more than static_spec.h allows, a resource named twice, devices out of order, and ways
/// that are not known. Names are the caller's to judge.
Result<std::vector<StaticSpec>, DecodeError> decode(StaticSpecList::Reader in);

/// A claim's, names and all: refuses what claim_spec.h finds a fault in, too.
Result<ClaimSpec, DecodeError> decode(schema::ClaimSpec::Reader in);

}  // namespace vfiogate
