#pragma once
// What a role on KJ's event loop has in common with the others: how it begins, and when it ends.

#include "ipc/base/log_format.h"
#include "privd/base/instance_lock.h"
#include "seccomp/resource_limits.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/io.h>

#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {

/// First of all: the log's form, and the signals, for KJ. Then limits and power are given up, and
/// every descriptor but the log's and `readyFd` (-1: none) closed. Error: for people.
std::optional<std::string> beginRole(LogForm form, const ResourceLimits& limits, int readyFd);

/// The loop of a role, and its ends.
class RoleLoop {
public:
  /// After beginRole(), and after all that forks. `readyFd` is the other end of the socket of the
  /// daemon that started this role; -1: nobody did.
  explicit RoleLoop(int readyFd);
  KJ_DISALLOW_COPY(RoleLoop);

  /// Of the one loop that this thread has; each lives as long as this.
  kj::UnixEventPort& port() { return io_.unixEventPort; }
  /// Time as of the loop's last turn.
  kj::Timer& timer() { return io_.provider->getTimer(); }
  /// Whoever has it may wait: main alone.
  kj::WaitScope& waitScope() { return io_.waitScope; }
  /// Makes streams of descriptors.
  kj::LowLevelAsyncIoProvider& lowLevel() { return *io_.lowLevelProvider; }

  /// Resolves at SIGTERM, SIGINT, and when the daemon has ended.
  kj::Promise<void> ended() { return ended_.addBranch(); }

  /// Has KJ make those system calls that the filter forbids. Before it.
  void settle() { io_.waitScope.poll(); }

  /// The role is locked down and serves. False: the daemon has ended.
  bool tellReady() const;

private:
  kj::Promise<void> anyEnd();

  kj::AsyncIoContext io_;
  kj::AutoCloseFd starter_;  ///< -1: none
  kj::Maybe<kj::UnixEventPort::FdObserver> starterReadable_;
  kj::ForkedPromise<void> ended_;
  kj::Promise<void> signals_;
  kj::Promise<void> leftOut_;  // tells what a flood left out of the log
};

/// Resolves when the lock is ours. The kernel can wait for a lock only by holding the loop up, so
/// it is asked again: after 250 ms at first, then half as often each time, up to 2 s. Logs who has
/// it, once.
kj::Promise<void> awaitTurn(InstanceLock& lock, kj::Timer& timer);

/// At random.
std::uint64_t drawNumber();

}  // namespace vfiogate
