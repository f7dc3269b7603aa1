#pragma once
// How gRPC's thread hands work to the loop's.
// What a part that waits needs of the loop.

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/common.h>
#include <kj/function.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <deque>
#include <memory>
#include <mutex>
#include <random>

namespace vfiogate {

/// Letters from any thread, carried out in order on the thread that made the box. Posting never
/// waits for that thread: the reason why this is not kj::Executor::executeSync. Nor is it KJ's
/// cross-thread promise, which wakes the loop while it holds a lock that the loop wants first.
class TaskQueue {
public:
  using Letter = kj::Function<void()>;

  TaskQueue();
  KJ_DISALLOW_COPY(TaskQueue);

  /// Any thread. False: the queue is closed and the task will not run.
  [[nodiscard]] bool post(Letter letter);

  /// The loop's thread: carries letters out for as long as the promise is kept.
  kj::Promise<void> run(kj::UnixEventPort& port);

  /// The loop's thread: drops what lies in the box, takes no more.
  void close();

private:
  void wake();
  kj::Promise<void> carryOut(kj::UnixEventPort::FdObserver& posted);
  std::deque<Letter> takeAll();

  kj::AutoCloseFd posted_;  ///< an eventfd: readable while letters wait

  std::mutex mutex_;
  std::deque<Letter> letters_;
  bool closed_ = false;
};

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
