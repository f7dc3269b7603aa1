#pragma once
// The kernel's events, and only the kernel's.

#include "ipc/types/result.h"

#include <kj/async-unix.h>
#include <kj/function.h>
#include <kj/io.h>

#include <cstdint>

namespace vfiogate {

/// A socket that hears the kernel's events in this network namespace. Error: the errno.
Result<kj::AutoCloseFd, int> openUeventSocket();

/// Calls `hint` for each event that may have changed the hardware's state, and when the kernel says
/// that events were lost. What does not come from the kernel is counted and ignored: its sender's
/// port is not 0, or its credentials are not root's.
class UeventListener {
public:
  UeventListener(kj::UnixEventPort& port, kj::AutoCloseFd socket, kj::Function<void()> hint);

  std::uint64_t foreign() const { return foreign_; }
  std::uint64_t lost() const { return lost_; }

private:
  kj::Promise<void> listen();
  /// False: there may be more.
  bool drain();

  kj::AutoCloseFd socket_;
  kj::UnixEventPort::FdObserver observer_;
  kj::Function<void()> hint_;
  std::uint64_t foreign_ = 0;
  std::uint64_t lost_ = 0;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
