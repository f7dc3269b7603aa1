#pragma once
// Sends simulated kernel events on the real path, into this network namespace.

#include <kj/io.h>

#include <optional>
#include <string>

#include "ipc/base/result.h"
#include "sim/sysfs/kernel/uevent.h"

namespace vfiogate::sim {

/// Listeners get what it sends with sender port 0, as from the kernel; only the credentials' pid
/// tells (platform-facts.md 5). Delivery is done when inject() returns.
class UeventInjector {
public:
  /// Fails with the reason, for people: injecting needs CAP_SYS_ADMIN in the user namespace that
  /// owns the network namespace. Sends one event, of a module named sim_sysfs, to find out.
  static Result<UeventInjector, std::string> open();

  /// Returns 0 or the errno the kernel acknowledged with.
  int inject(const Uevent& event);

private:
  explicit UeventInjector(kj::AutoCloseFd socket) : socket_(kj::mv(socket)) {}

  kj::AutoCloseFd socket_;
};

/// Why nothing should be injected here: this is the host's own network namespace, whose udevd would
/// listen. Null in a namespace of our own.
std::optional<std::string> hostNetworkNamespace();

}  // namespace vfiogate::sim
