#pragma once
// What binding was told: by `privd serve`, and by the command line where no daemon runs.

#include "ipc/types/binding_change.h"
#include "ipc/types/selector.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

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

/// They describe options to the parser, which fills `options`.
void addAuditOption(CLI::App& command, BindingOptions& options);
/// What decides on changes, but for overrides.
void addGuardOptions(CLI::App& command, BindingOptions& options);

/// `--override GUARD[=ADDRESS]`, repeatable.
void addOverrideOption(CLI::App& command, std::vector<GuardOverride>& overrides);

/// `--declare SELECTOR|ADDRESS=VENDOR:DEVICE`, repeatable.
void addDeclareOption(CLI::App& command, std::vector<Selector>& declared);

}  // namespace vfiogate
