#include "plugind/base/task_queue.h"

#include "plugind/base/log_line.h"

#include <kj/debug.h>
#include <kj/exception.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace vfiogate {

TaskQueue::TaskQueue() {
  int made = -1;
  KJ_SYSCALL(made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  posted_ = kj::AutoCloseFd(made);
}

bool TaskQueue::post(Letter letter) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    first = letters_.empty();
    letters_.push_back(kj::mv(letter));
  }
  // Without the lock: whoever wakes up wants it.
  if (first) wake();
  return true;
}

void TaskQueue::wake() {
  const std::uint64_t one = 1;
  KJ_SYSCALL(write(posted_.get(), &one, sizeof(one)));
}

kj::Promise<void> TaskQueue::run(kj::UnixEventPort& port) {
  auto posted = kj::heap<kj::UnixEventPort::FdObserver>(
      port, posted_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto running = carryOut(*posted);
  return running.attach(kj::mv(posted));
}

kj::Promise<void> TaskQueue::carryOut(kj::UnixEventPort::FdObserver& posted) {
  return posted.whenBecomesReadable().then([this, &posted]() {
    // Before the letters are taken: one that comes after them is told again.
    std::uint64_t times = 0;
    ssize_t taken = 0;
    KJ_NONBLOCKING_SYSCALL(taken = read(posted_.get(), &times, sizeof(times)));
    for (Letter& letter : takeAll()) {
      KJ_IF_MAYBE (failure, kj::runCatchingExceptions([&letter]() { letter(); })) {
        logError(LogEvent::kTaskFailed, {{"task", "letter"}, {"why", kj::str(*failure).cStr()}});
      }
    }
    return carryOut(posted);
  });
}

void TaskQueue::close() {
  std::deque<Letter> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::swap(dropped, letters_);
}

std::deque<TaskQueue::Letter> TaskQueue::takeAll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(letters_, {});
}

}  // namespace vfiogate
