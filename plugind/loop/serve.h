#pragma once
// The daemon's life: power given up, listening, locked down, and only then the first byte from
// outside.

#include "plugind/cli/command_line.h"
#include "plugind/config/config.h"
#include "seccomp/plugind_rules.h"

#include <sys/types.h>

#include <span>

namespace vfiogate {

/// What is as it is, but in the self-test.
struct Surroundings {
  uid_t root = 0;  ///< whose privd's gate and binder are, and the kubelet
  std::span<const Rule> filter = kPlugindRules;
};

/// Serves until SIGTERM or SIGINT, then ends the process with code 0: at once and quietly, so that
/// the kubelet sees a disconnect and no empty frame. Returns only if start-up fails, with the exit
/// code and the reason on the log.
int serve(const CommandLine& line, Config config, const Surroundings& around = {});

}  // namespace vfiogate
