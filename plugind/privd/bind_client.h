#pragma once
// Asks privd to change the drivers of a group.

#include "ipc/schema/helper.capnp.h"
#include "plugind/core/bind_outcome.h"

#include <kj/async.h>

#include <cstdint>

namespace vfiogate {

struct BindAnswered {
  BindOutcome outcome;
  std::uint64_t generation;  ///< of the snapshot that shows what it left
};

/// Both fail as Cap'n Proto's calls do.
kj::Promise<BindAnswered> askToBind(schema::GroupControl::Client control);
kj::Promise<BindAnswered> askToGiveBack(schema::GroupControl::Client control);

}  // namespace vfiogate
