#pragma once
// What a part that waits needs of the loop.

#include "plugind/base/task_queue.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/timer.h>

#include <memory>
#include <random>

namespace vfiogate {

/// Borrowed from main(), which keeps them longer than every part. Clock and randomness come in here
/// so that no part reaches for its own.
struct LoopDeps {
  kj::UnixEventPort& port;
  kj::LowLevelAsyncIoProvider& streams;
  kj::Timer& timer;
  std::shared_ptr<TaskQueue> taskQueue;
  std::mt19937& random;  ///< seeded before the lock-down; for jitter and references, not secrets
};

}  // namespace vfiogate
