#pragma once
// The tables of all of privd's processes.

#include "seccomp/binder_rules.h"
#include "seccomp/daemon_rules.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/iommufd_rules.h"
#include "seccomp/print_profile.h"
#include "seccomp/startup_rules.h"

#include <array>
#include <string_view>

namespace vfiogate {

/// In the order in which they are printed.
inline constexpr std::array<std::string_view, 5> kPrivdRoles{"hardware", "gate", "binder", "daemon",
                                                             "iommufd"};

/// Of one of these; the binder's with that of the fork server that it forks. The daemon and
/// the iommufd process are in no container, so nothing is said of their start.
inline Policy privdPolicy(std::string_view role) {
  if (role == "hardware") return {"privd-hardware", kHardwareRules, kHardwareStartupRules};
  if (role == "gate") return {"privd-gate", kGateRules, kGateStartupRules};
  if (role == "daemon") return {"privd-daemon", kDaemonRules, {}};
  if (role == "iommufd") return {"privd-iommufd", kIommufdRules, {}};
  return {"privd-binder",
          kBinderRules,
          kBinderStartupRules,
          {{"forked", "privd's fork server", kForkServerRules}}};
}

}  // namespace vfiogate
