#pragma once
// Turns a table into the kernel's filter. There is no other way in: no log mode, no switch.

#include "seccomp/rule.h"
#include "seccomp/step_failure.h"

#include <optional>
#include <span>

namespace vfiogate {

/// Puts every thread of this process under `table`, for good, and sets no_new_privs. What no row
/// allows kills the process, as does every call of another architecture or of x32.
/// No value: it is in force. Else nothing is and the process must not go on.
std::optional<StepFailure> loadFilter(std::span<const Rule> table);

/// Writes the filter that loadFilter would load, an array of struct sock_filter, to `fd`
/// (borrowed).
std::optional<StepFailure> exportFilter(std::span<const Rule> table, int fd);

}  // namespace vfiogate
