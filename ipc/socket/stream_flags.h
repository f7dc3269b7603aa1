#pragma once
// How a socket of unix_socket.h is given to KJ's event loop, which privd-gate has not.

#include <kj/async-io.h>

namespace vfiogate {

/// The socket is non-blocking and close-on-exec already.
inline constexpr unsigned kStreamFlags =
    kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC | kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;

}  // namespace vfiogate
