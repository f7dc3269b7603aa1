#pragma once
// The office of a command that works without a daemon.

#include "privd/binding_office.h"

#include <kj/async-io.h>

#include <functional>
#include <string>
#include <vector>

namespace vfiogate {

/// What `privd serve` would have been told. Selectors and overrides are still text.
struct LocalOfficeOptions {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string stateDir = "/var/lib/vfiogate";
  std::string auditLog = "/var/log/vfiogate/audit.jsonl";
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::string hostMountinfo;  ///< empty: this process's own
  std::string hostRoute;      ///< empty: this process's own
  bool allowStorage = false;
  bool allowUnguardedUnbind = false;
};

/// Makes an office that works in this process, with the node's lock, the same guards and the same
/// audit log as the daemon. Nothing but standard streams and `io` is open when it is called. Error:
/// in words, such as who has the lock.
using OfficeMaker = std::function<Result<kj::Own<BindingOffice>, std::string>(
    const LocalOfficeOptions& options, kj::AsyncIoContext& io)>;

}  // namespace vfiogate
