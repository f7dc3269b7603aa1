#pragma once
// Tells when a name appears in a directory.

#include "privd/base/broadcast.h"

#include <kj/async-unix.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <cstdint>

namespace vfiogate {

/// Counts how often `name` was created in, or renamed into, `directory`; where `name` is empty: any
/// name, and how often a file there was written or removed. Uses inotify; a directory that is
/// missing, goes away or overflows its queue is looked for again, and counts as an appearance when
/// it is back: one too many costs a reread, one too few an outage. Where inotify has nothing left
/// for this user, an appearance is counted every second.
class NameWatch {
public:
  NameWatch(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr directory, kj::StringPtr name);

  std::uint64_t count() const { return count_; }

  /// Resolves with the count as soon as it is above `seen`.
  kj::Promise<std::uint64_t> next(std::uint64_t seen);

private:
  bool arm();
  kj::Promise<void> watch();
  kj::Promise<void> retryArm();
  /// Reads what inotify has. False: the watch is gone.
  bool drain();
  void appeared();

  kj::Timer& timer_;
  kj::String directory_;
  kj::String name_;
  kj::AutoCloseFd inotify_;
  kj::Maybe<kj::UnixEventPort::FdObserver> observer_;
  int descriptor_ = -1;  ///< inotify's watch descriptor, not a file descriptor
  std::uint64_t count_ = 0;
  Broadcast broadcast_;
  kj::Promise<void> task_ = nullptr;
};

}  // namespace vfiogate
