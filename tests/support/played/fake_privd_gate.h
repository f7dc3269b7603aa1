#pragma once
// The kubelet's directory as a played privd shows it.

#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd_line.h"

namespace vfiogate::test {

/// Makes and dials the sockets there. Borrows `line`.
schema::KubeletGate::Client makeGate(Line& line);

}  // namespace vfiogate::test
