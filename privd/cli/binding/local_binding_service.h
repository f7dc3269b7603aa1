#pragma once
// The service of a command that works without a daemon.

#include "privd/bind/binding_service.h"
#include "privd/options/binding_options.h"

#include <kj/async-io.h>

#include <functional>
#include <string>

namespace vfiogate {

/// What `privd serve` would have been told. Without `hostMountinfo` and `hostRoute` this process's
/// own are taken: it runs where an operator is.
struct LocalBindingOptions {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  BindingOptions binding;
};

/// Makes a service that works in this process, with the node's lock, the same guards and the same
/// audit log as the daemon. Nothing but standard streams and `io` is open when it is called. Error:
/// in words, such as who has the lock.
using BindingServiceMaker = std::function<Result<kj::Own<BindingService>, std::string>(
    const LocalBindingOptions& options, kj::AsyncIoContext& io)>;

/// The maker of the real one.
Result<kj::Own<BindingService>, std::string> makeLocalBindingService(
    const LocalBindingOptions& options, kj::AsyncIoContext& io);

}  // namespace vfiogate
