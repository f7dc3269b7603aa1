#pragma once
// What binding was told: by the daemon's options, and by the command line where no daemon runs.

#include "ipc/types/binding_change.h"
#include "ipc/types/selector.h"
#include "privd/options/option_table.h"

#include <string>
#include <vector>

namespace vfiogate {

struct BindingOptions {
  std::string auditLog = "/var/log/vfiogate/audit.jsonl";
  std::vector<Selector> allow;
  std::vector<Selector> deny;
  std::vector<GuardOverride> overrides;
  bool allowStorage = false;
  bool allowUnguardedUnbind = false;
  std::string hostMountinfo;  ///< empty: not given
  std::string hostRoute;      ///< empty: not given
  std::string moduleAliases;  ///< empty: the running kernel's
};

/// Each fills what it is given.
Option auditOption(BindingOptions& options);
/// What decides on changes, but for overrides.
OptionTable guardOptions(BindingOptions& options);
Option overrideOption(std::vector<GuardOverride>& overrides);
Option declareOption(std::vector<Selector>& declared);

}  // namespace vfiogate
