#pragma once
// The steps of start-up that the roles of netd share.

#include "seccomp/drop_privileges.h"
#include "seccomp/step_failure.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vfiogate {

/// Says so on the log. The exit code.
int startFailed(const std::string& step, const std::string& why);

/// Limits itself to `memory` bytes; gives up all power, and all descriptors but the log's and
/// `keep` (borrowed); becomes `user` where it is root, else stays who it is and says so.
std::optional<StepFailure> becomeNobody(const Identity& user, std::span<const int> keep,
                                        std::uint64_t memory);

}  // namespace vfiogate
