#pragma once
// RPC answers to specs that plugind asked for.

#include "ipc/schema/helper.capnp.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"

namespace vfiogate {

void encode(const std::vector<SpecOutcome>& outcomes, schema::SpecsAnswer::Builder to);

/// Asks `store` and tells what it says. What makes no sense is answered with `bad`.
void writeClaimSpec(ClaimStore& store, schema::ClaimSpec::Reader spec, const Snapshot& hardware,
                    schema::ClaimSpecAnswer::Builder to);
void unlinkClaimSpec(ClaimStore& store, capnp::Text::Reader uid, schema::UnlinkAnswer::Builder to);
void tellClaimSpecs(const ClaimStore& store, schema::ClaimSpecsAnswer::Builder to);

}  // namespace vfiogate
