#pragma once
// The operators' desk, over the line.

#include "ipc/schema/helper.capnp.h"
#include "privd/bind/binding_office.h"

#include <kj/function.h>

namespace vfiogate {

/// The desk of the connection whose other end is `who`. Borrows `office`, which outlives it. An
/// order that makes no sense goes to `hangUp`, with why.
schema::BindDesk::Client makeBindDesk(BindingOffice& office, AuditPeer who,
                                      kj::Function<void(kj::StringPtr why)> hangUp);

}  // namespace vfiogate
