#pragma once
// How a connection that privd dials to plugind begins: one byte, the version, with plugind's end of
// the gate's channel. Then Cap'n Proto starts on the connection, and the gate on the channel.

#include "ipc/base/result.h"

#include <kj/common.h>
#include <kj/io.h>

#include <cstdint>
#include <string>

namespace vfiogate {

/// `version` is the one that both must have. `connection` is borrowed. Returns the gate's end of
/// the channel. Error: in words, for the log.
Result<kj::AutoCloseFd, std::string> sendOpening(int connection, std::uint8_t version);

/// The other side: plugind's end of the channel, close-on-exec and non-blocking. `connection` is
/// borrowed. Null: nothing has arrived yet. Error: in words, for the log; hang up then.
Result<kj::Maybe<kj::AutoCloseFd>, std::string> receiveOpening(int connection,
                                                               std::uint8_t version);

}  // namespace vfiogate
