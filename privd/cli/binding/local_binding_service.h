#pragma once
// The service of a command: it binds by itself, beside a daemon or without one.

#include "privd/cli/binding/binding_service.h"
#include "privd/options/binding_options.h"

#include <kj/async-io.h>

#include <functional>
#include <string>

namespace vfiogate {

/// What `privd serve` would have been told. Without `hostMountinfo` and `hostRoute` this process's
/// own are taken; where `sysfs` is below /host, those below /host/proc, there or not.
struct LocalBindingOptions {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  BindingOptions binding;
  bool dryRun = false;  ///< nothing is written: root is not needed
};

/// Makes a service that opens what it is asked about alone, below `stateDir`, and the audit log.
/// This process logs nothing from now on. Error: in words.
using KeepServiceMaker =
    std::function<Result<kj::Own<KeepService>, std::string>(const LocalBindingOptions& options)>;

/// Makes a service that works in this process, with the same guards, locks of devices and audit log
/// as the daemon; for a dry run without root, with a state of its own that is empty, which it says
/// on stderr. This process logs nothing from now on: reports have it. Nothing but standard streams
/// and `io` is open when it is called. Error: in words.
using BindingServiceMaker = std::function<Result<kj::Own<BindingService>, std::string>(
    const LocalBindingOptions& options, kj::AsyncIoContext& io)>;

/// The makers of the services of the commands.
struct ServiceMakers {
  BindingServiceMaker binding;
  KeepServiceMaker keep;
};

/// The maker of the real one.
Result<kj::Own<BindingService>, std::string> makeLocalBindingService(
    const LocalBindingOptions& options, kj::AsyncIoContext& io);

/// The same of the service of hold, release, holds and forget: files of the state directory, and
/// nothing of the hardware. It works in the gate's container, which has nothing but
/// <state-dir>/holds.
Result<kj::Own<KeepService>, std::string> makeLocalKeepService(const LocalBindingOptions& options);

}  // namespace vfiogate
