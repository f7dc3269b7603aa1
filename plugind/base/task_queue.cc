#include "plugind/base/task_queue.h"

#include "plugind/base/log_line.h"

#include <kj/exception.h>

#include <utility>

namespace vfiogate {

bool TaskQueue::post(Letter letter) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  letters_.push_back(kj::mv(letter));
  if (broadcast_.get() != nullptr) broadcast_->fulfill();
  return true;
}

kj::Promise<void> TaskQueue::run() {
  auto broadcast = kj::newPromiseAndCrossThreadFulfiller<void>();
  {
    const std::lock_guard lock(mutex_);
    broadcast_ = kj::mv(broadcast.fulfiller);
    if (!letters_.empty()) broadcast_->fulfill();
  }
  return broadcast.promise.then([this]() {
    for (Letter& letter : takeAll()) {
      KJ_IF_MAYBE (failure, kj::runCatchingExceptions([&letter]() { letter(); })) {
        logError(LogEvent::kTaskFailed, {{"task", "letter"}, {"why", kj::str(*failure).cStr()}});
      }
    }
    return run();
  });
}

void TaskQueue::close() {
  std::deque<Letter> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  broadcast_ = nullptr;
  std::swap(dropped, letters_);
}

std::deque<TaskQueue::Letter> TaskQueue::takeAll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(letters_, {});
}

}  // namespace vfiogate
