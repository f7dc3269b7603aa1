#pragma once
// Binding as a played privd does it: the made-up hardware follows.

#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd_rpc.h"

#include <kj/async.h>

namespace vfiogate::test {

/// Binds the group, or gives it back, as the test says; resolves with how it ended. Borrows `peer`.
kj::Promise<FakePrivd::Binding> changeDrivers(PeerConnection& peer, IommuGroupId group, bool bind);

/// What a peer is told of it.
void tellChange(const PeerConnection& peer, FakePrivd::Binding ended,
                schema::BindAnswer::Builder answer);

}  // namespace vfiogate::test
