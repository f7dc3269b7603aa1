#include "privd/bind/binding_deps.h"

#include "privd/base/boot_id.h"

#include <sys/utsname.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace vfiogate {
namespace {

/// None where it cannot be read: vfio-pci is for all devices.
std::vector<VfioAlias> readAliases(std::string path) {
  if (path.empty()) {
    utsname kernel = {};
    if (uname(&kernel) != 0) return {};
    path = std::string("/lib/modules/") + kernel.release + "/modules.alias";
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return vfioAliases(text.str());
}

/// The disk, or the mount, is to blame; the rest of privd has nothing to do with that.
bool isOfTheDisk(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == ENOENT;
}

}  // namespace

Result<BindingDeps, std::string> openBindingParts(const std::string& stateDir,
                                                  const BindingOptions& options,
                                                  AuditSettings settings) {
  auto state = StateDirectory::open(stateDir);
  if (!state) return Failure{"--state-dir " + stateDir + "/" + state.error().str()};
  BindingDeps parts{.state = kj::mv(state).value(),
                    .audit = nullptr,
                    .auditTrouble = {},
                    .aliases = readAliases(options.moduleAliases),
                    .bootId = bootId()};
  auto log = AuditLog::open(options.auditLog, parts.bootId, kj::mv(settings));
  if (log) {
    parts.audit = kj::mv(log).value();
    return parts;
  }
  parts.auditTrouble =
      "--audit-log " + options.auditLog + ": " + log.error().step +
      (log.error().error == 0 ? "" : std::string(": ") + strerror(log.error().error));
  if (!isOfTheDisk(log.error().error)) return Failure{parts.auditTrouble};
  return parts;
}

GuardSettings guardSettingsOf(const BindingOptions& options) {
  return {.allow = options.allow,
          .deny = options.deny,
          .overrides = options.overrides,
          .allowStorage = options.allowStorage,
          .allowUnguardedUnbind = options.allowUnguardedUnbind};
}

HostFiles hostFilesOf(const BindingOptions& options) {
  return {.mountinfo = options.hostMountinfo, .route = options.hostRoute};
}

}  // namespace vfiogate
