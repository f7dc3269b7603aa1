#pragma once
// The line's words for what became of declared specs.

#include "ipc/schema/helper.capnp.h"
#include "privd/cdi_store.h"

namespace vfiogate {

void encode(const std::vector<SpecOutcome>& outcomes, schema::SpecsAnswer::Builder to);

}  // namespace vfiogate
