#include "plugind/base/letterbox.h"

#include "plugind/base/log_line.h"

#include <kj/exception.h>

#include <utility>

namespace vfiogate {

bool Letterbox::post(Letter letter) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  letters_.push_back(kj::mv(letter));
  if (bell_.get() != nullptr) bell_->fulfill();
  return true;
}

kj::Promise<void> Letterbox::run() {
  auto bell = kj::newPromiseAndCrossThreadFulfiller<void>();
  {
    const std::lock_guard lock(mutex_);
    bell_ = kj::mv(bell.fulfiller);
    if (!letters_.empty()) bell_->fulfill();
  }
  return bell.promise.then([this]() {
    for (Letter& letter : takeAll()) {
      KJ_IF_MAYBE (failure, kj::runCatchingExceptions([&letter]() { letter(); })) {
        logError(LogEvent::kTaskFailed, {{"task", "letter"}, {"why", kj::str(*failure).cStr()}});
      }
    }
    return run();
  });
}

void Letterbox::close() {
  std::deque<Letter> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  bell_ = nullptr;
  std::swap(dropped, letters_);
}

std::deque<Letterbox::Letter> Letterbox::takeAll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(letters_, {});
}

}  // namespace vfiogate
