#pragma once
// The tables of all of privd's processes.

#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/print_profile.h"
#include "seccomp/privd_rules.h"
#include "seccomp/startup_rules.h"

namespace vfiogate {

/// Of the daemon, the fork server that it forks and the gate that it starts.
inline Policy privdPolicy() {
  return {
      "privd",
      kPrivdRules,
      kPrivdStartupRules,
      {{"forked", "privd's fork server", kForkServerRules}, {"started", "privd-gate", kGateRules}}};
}

}  // namespace vfiogate
