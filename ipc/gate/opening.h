#pragma once
// How a connection that one of privd's processes dials to plugind begins: which process it is, and
// the version. The gate and the binder send plugind's end of their channel with it, and have no
// more use for the connection; with the hardware process Cap'n Proto starts on it.

#include "ipc/base/result.h"

#include <kj/common.h>
#include <kj/io.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace vfiogate {

/// Said in every opening: raised with every change that an older peer would misread.
inline constexpr std::uint8_t kChannelVersion = 14;

enum class PrivdRole : std::uint8_t { kHardware, kGate, kBinder };

inline constexpr std::size_t kPrivdRoles = 3;

/// "hardware", "gate", "binder".
const char* nameOf(PrivdRole role);

/// What is said first, in one packet: the role and the version, which both must have.
struct Opening {
  PrivdRole role = PrivdRole::kHardware;
  kj::Maybe<kj::AutoCloseFd> channel;  ///< null: of the hardware process
};

/// `connection` is borrowed. Error: in words, for the log.
Result<Done, std::string> sendHardwareOpening(int connection, std::uint8_t version);
/// The same for a role with a channel; returns our end of it.
Result<kj::AutoCloseFd, std::string> sendChannelOpening(int connection, PrivdRole role,
                                                        std::uint8_t version);

/// The other side: plugind's end of a channel is close-on-exec and non-blocking. `connection` is
/// borrowed. Null: nothing has arrived yet. Error: in words, for the log; hang up then.
Result<kj::Maybe<Opening>, std::string> receiveOpening(int connection, std::uint8_t version);

}  // namespace vfiogate
