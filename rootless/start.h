#pragma once
// The steps of start-up that the daemons share.

#include "seccomp/drop_privileges.h"
#include "seccomp/step_failure.h"

#include <kj/async-io.h>

#include <functional>
#include <optional>
#include <span>

namespace vfiogate {

/// Gives up all power, and all descriptors but the log's and `keep` (borrowed). Becomes `user`
/// where it is root; else it stays who it is, which `staysOther` is told if that is another.
std::optional<StepFailure> becomeUser(const Identity& user, std::span<const int> keep,
                                      const std::function<void()>& staysOther);

/// SIGTERM and SIGINT come to the loop. Before it is made.
void captureEndSignals();

/// Resolves on SIGTERM or SIGINT. The kernel is asked for them here and now, not when the loop
/// first waits: the filter forbids it by then.
kj::Promise<void> whenToldToEnd(kj::AsyncIoContext& io);

}  // namespace vfiogate
