#pragma once
// The kubelet's directory as a played privd shows it.

#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd_rpc.h"

namespace vfiogate::test {

/// Makes and dials the sockets there. Borrows `peer`.
schema::KubeletGate::Client makeGate(PeerConnection& peer);

}  // namespace vfiogate::test
