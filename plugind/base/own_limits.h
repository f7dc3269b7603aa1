#pragma once
// plugind's resource limits, and what it says when that does not suffice. gRPC's threads
// come and go, and neither they nor its memory ask us first. docs/limits.md.

#include "seccomp/step_failure.h"

#include <optional>

namespace vfiogate {

/// Sets the limits, tells on the log what the starter allows less of, and gives threads small
/// stacks, which count as memory. Before the first thread.
std::optional<StepFailure> limitOurselves();

/// From now on there is a line on the log where the process ends for want of memory (code 1)
/// or of an invariant (SIGABRT); and what gRPC says is quoted and cut like all else.
/// After startLog(), before the filter.
void sayWhatEndsUs();

}  // namespace vfiogate
