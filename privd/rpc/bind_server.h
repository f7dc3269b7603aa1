#pragma once
// The operators' control service, over RPC.

#include "ipc/schema/helper.capnp.h"
#include "privd/bind/binding_service.h"

#include <kj/function.h>

namespace vfiogate {

/// The control service of the connection whose other end is `who`. Borrows `service`. An
/// order that makes no sense goes to `hangUp`, with why.
schema::BindControl::Client makeBindControl(BindingService& service, AuditPeer who,
                                            kj::Function<void(kj::StringPtr why)> hangUp);

}  // namespace vfiogate
