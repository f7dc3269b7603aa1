#pragma once
// Files that privd opened for plugind, which can open none.

#include "ipc/base/result.h"

#include <cstdint>
#include <string>

namespace vfiogate {

/// The whole of a file of `size` bytes, as privd says. `fd` (borrowed) is at its beginning. Never
/// waits: it is a regular file. Error: for people; also if it is above 1 MiB, which privd lets
/// nothing be.
Result<std::string, std::string> readPosted(int fd, std::uint32_t size);

}  // namespace vfiogate
