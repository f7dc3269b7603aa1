#pragma once
// The kernel's events as a wake-up alone: not a byte of them is looked at.

#include <kj/async-unix.h>
#include <kj/function.h>
#include <kj/io.h>
#include <kj/timer.h>

namespace vfiogate {

/// Calls `wake` as soon as there is an event, and then at most every 100 ms while they keep coming.
/// Whoever sent it: it is only a reason to reread sooner.
class UeventWake {
public:
  UeventWake(kj::UnixEventPort& port, kj::Timer& timer, kj::AutoCloseFd socket,
             kj::Function<void()> wake);
  KJ_DISALLOW_COPY(UeventWake);

private:
  kj::Promise<void> listen();
  /// True: there was an event, or some were lost.
  bool drain();

  kj::Timer& timer_;
  kj::AutoCloseFd socket_;
  kj::UnixEventPort::FdObserver observer_;
  kj::Function<void()> wake_;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
