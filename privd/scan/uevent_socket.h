#pragma once
// The kernel's events, and only the kernel's.
// What a kernel event's text tells us: that it is worth looking again, and where first.

#include "ipc/base/result.h"
#include "ipc/types/discovery_counts.h"
#include "privd/scan/pci_scan.h"

#include <kj/async-unix.h>
#include <kj/function.h>
#include <kj/io.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace vfiogate {

/// Where a kernel event says that something may have changed; no place at all: anywhere. Null: it
/// is about nothing that a snapshot shows. Its contents are a hint, never data: they may be forged,
/// stale or out of order, and what they do not name is looked at a little later all the same.
std::optional<Places> hintOf(std::string_view datagram);

/// A socket that hears the kernel's events in this network namespace. Error: the errno.
Result<kj::AutoCloseFd, int> openUeventSocket();

/// Calls `hint` with the places that an event names, for each that may have changed the hardware's
/// state; without any place where that may be anywhere, also when the kernel says that events were
/// lost. What does not come from the kernel is ignored: its sender's port is not 0, or its
/// credentials are not root's. All of them are counted in `counts`.
class UeventListener {
public:
  UeventListener(kj::UnixEventPort& port, kj::AutoCloseFd socket,
                 kj::Function<void(const Places&)> hint, DiscoveryCounts& counts);

private:
  kj::Promise<void> listen();
  /// False: there may be more.
  bool drain();

  kj::AutoCloseFd socket_;
  kj::UnixEventPort::FdObserver observer_;
  kj::Function<void(const Places&)> hint_;
  DiscoveryCounts& counts_;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
