#pragma once
// What a process without an event loop of KJ's waits for.

#include "privd/base/open_file.h"

#include <poll.h>

#include <chrono>
#include <span>

namespace vfiogate {

/// A descriptor that can be read once SIGTERM or SIGINT has come: from now on neither ends this
/// process. SIGPIPE is ignored: whoever reads a socket or the log and goes away must not end it.
Result<kj::AutoCloseFd, ReadError> takeEndSignals();

/// Waits at most `longest`. False: none of them is ready, and none says that it is. Not poll(),
/// which another system call resumes in a process that was stopped and continued.
bool awaitAny(std::span<pollfd> sources, std::chrono::nanoseconds longest);

}  // namespace vfiogate
