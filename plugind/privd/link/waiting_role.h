#pragma once
// The half of a session that came first, and waits for the other.

#include "ipc/gate/opening.h"
#include "plugind/base/task_queue.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/io.h>

namespace vfiogate {

/// Keeps its connection, on which nothing may come yet. The loop's thread only.
class WaitingRole {
public:
  WaitingRole(PrivdRole role, kj::AutoCloseFd connection, const LoopDeps& loop)
      : role_(role),
        connection_(kj::mv(connection)),
        readable_(kj::heap<kj::UnixEventPort::FdObserver>(
            loop.port, connection_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ)) {}
  KJ_DISALLOW_COPY(WaitingRole);

  /// The gate, or the hardware process.
  PrivdRole role() const { return role_; }
  /// Resolves when it left, or spoke before it was asked: let it go then. Not after take().
  kj::Promise<void> over() { return readable_->whenBecomesReadable(); }
  /// Its connection; this is of no use after that.
  kj::AutoCloseFd take() {
    readable_ = nullptr;
    return kj::mv(connection_);
  }

private:
  const PrivdRole role_;
  kj::AutoCloseFd connection_;
  kj::Own<kj::UnixEventPort::FdObserver> readable_;
};

}  // namespace vfiogate
