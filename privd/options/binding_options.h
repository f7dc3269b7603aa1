#pragma once
// What binding was told: by the daemon's options, and by the command line where no daemon runs.

#include "ipc/types/binding_change.h"
#include "ipc/types/selector.h"
#include "privd/bind/plan/wanted_vfs.h"
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

/// Where the record of allocations is: `recordDir`, or, where that is empty, the machine's own, or
/// `devices` below a state directory that is not the machine's own.
inline std::string recordDirectory(const std::string& recordDir, const std::string& stateDir) {
  if (!recordDir.empty()) return recordDir;
  return stateDir == "/var/lib/vfiogate" ? "/run/vfiogate/devices" : stateDir + "/devices";
}

/// Each fills what it is given.
Option recordOption(std::string& recordDir);
Option auditOption(BindingOptions& options);
/// What decides on changes, but for overrides.
OptionTable guardOptions(BindingOptions& options);
Option overrideOption(std::vector<GuardOverride>& overrides);
Option declareOption(std::vector<Selector>& declared);
Option vfsOption(std::vector<WantedVfs>& vfs);

}  // namespace vfiogate
