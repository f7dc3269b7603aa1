#pragma once
// What a played privd does for a DRA driver.

#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd_rpc.h"

namespace vfiogate::test {

/// Where the real one makes the sockets; directories are made where they are missing.
void listenForDra(PeerConnection& peer, std::uint32_t ticket, kj::StringPtr driver,
                  schema::DraSocket socket, schema::ListenAnswer::Builder answer);

/// Kept, not written; a device that is not among the hardware is unreachable.
void writeClaim(Play& play, schema::ClaimSpec::Reader spec,
                schema::ClaimSpecAnswer::Builder answer);
void unlinkClaim(Play& play, kj::StringPtr uid, schema::UnlinkAnswer::Builder answer);
void tellClaims(const Play& play, schema::ClaimSpecsAnswer::Builder answer);

}  // namespace vfiogate::test
