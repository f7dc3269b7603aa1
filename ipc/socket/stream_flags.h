#pragma once
// How a socket that is already non-blocking and close-on-exec is given to KJ.

#include <kj/async-io.h>

namespace vfiogate {

inline constexpr unsigned kStreamFlags =
    kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC | kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;

}  // namespace vfiogate
