#pragma once
// plugind as a process: its resource limits, and what it says when they do not suffice (gRPC's
// threads come and go without asking; docs/limits.md); and the socket on which privd finds it,
// which one plugind has at a time.

#include "ipc/base/result.h"
#include "seccomp/step_failure.h"

#include <kj/io.h>

#include <optional>
#include <string>

namespace vfiogate {

/// Sets the limits, tells on the log what the starter allows less of, and gives threads small
/// stacks, which count as memory. Before the first thread.
std::optional<StepFailure> limitOurselves();

/// From now on there is a line on the log where the process ends for want of memory (code 1)
/// or of an invariant (SIGABRT); and what gRPC says is quoted and cut like all else.
/// After startLog(), before the filter.
void sayWhatEndsUs();

/// Listens at `path`, unless another process does. A socket left by an ended process is replaced.
/// Beside it lies `path`.lock, empty: who looks whether the place is free has it locked meanwhile,
/// so that of two that start together one is refused. Error: in words, with the other one's pid.
Result<kj::AutoCloseFd, std::string> listenAlone(const std::string& path);

}  // namespace vfiogate
