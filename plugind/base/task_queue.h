#pragma once
// How gRPC's threads hand work to the loop's thread.

#include <kj/async.h>
#include <kj/function.h>

#include <deque>
#include <mutex>

namespace vfiogate {

/// Letters from any thread, carried out in order on the thread that made the box. Posting never
/// waits for that thread, so it may itself wait for gRPC (shutting a server down) without a
/// deadlock: the reason why this is not kj::Executor::executeSync.
class TaskQueue {
public:
  using Letter = kj::Function<void()>;

  /// Any thread. False: the queue is closed and the task will not run.
  [[nodiscard]] bool post(Letter letter);

  /// The loop's thread: carries letters out for as long as the promise is kept.
  kj::Promise<void> run();

  /// The loop's thread: drops what lies in the box, takes no more.
  void close();

private:
  std::deque<Letter> takeAll();

  std::mutex mutex_;
  std::deque<Letter> letters_;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> broadcast_;
  bool closed_ = false;
};

}  // namespace vfiogate
