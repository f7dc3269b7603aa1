#pragma once
// The socket on which privd finds plugind: of one plugind at a time.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Listens at `path`, unless another process does. A socket left by an ended process is replaced.
/// Beside it lies `path`.lock, empty: who looks whether the place is free has it locked meanwhile,
/// so that of two that start together one is refused. Error: in words, with the other one's pid.
Result<kj::AutoCloseFd, std::string> listenAlone(const std::string& path);

}  // namespace vfiogate
