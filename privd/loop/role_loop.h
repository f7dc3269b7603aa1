#pragma once
// What a role on KJ's event loop has in common with the others: how it begins, and when it ends.

#include "ipc/base/build_info.h"
#include "ipc/base/log_format.h"
#include "ipc/gate/opening.h"
#include "ipc/types/viability.h"
#include "privd/base/instance_lock.h"
#include "privd/options/shared_options.h"
#include "seccomp/resource_limits.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/io.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vfiogate {

/// What main() of a role does: its arguments fill the options of the table, to which --ready-fd is
/// added, and `serve` is given both. Returns the exit code.
template <typename Options>
int runRole(std::span<char*> arguments, const ProgramWords& words, OptionTable (*tableOf)(Options&),
            int (*serve)(const Options&, int readyFd)) {
  Options options;
  int readyFd = -1;
  OptionTable table = tableOf(options);
  table.push_back(readyOption(readyFd));
  const auto through = takeArguments(table, {arguments.begin() + 1, arguments.end()}, words);
  return through ? *through : serve(options, readyFd);
}

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

/// Says on the log that the role serves, what it saw `first`, and what the node lacks.
void tellStart(PrivdRole role, const BuildInfo& build, const Snapshot& first, BindingAsked asked);

/// At random.
std::uint64_t drawNumber();

}  // namespace vfiogate
