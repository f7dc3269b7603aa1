#include "privd/base/name_watch.h"

#include "privd/base/log_line.h"

#include <kj/debug.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr auto kRetry = 1 * kj::SECONDS;

}  // namespace

NameWatch::NameWatch(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr directory,
                     kj::StringPtr name)
    : timer_(timer),
      directory_(kj::heapString(directory)),
      name_(kj::heapString(name)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (inotify_.get() >= 0) {
    observer_.emplace(port, inotify_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  }
  if (arm()) {
    task_ = watch().eagerlyEvaluate(nullptr);
  } else {
    tellUnwatched(errno, directory_.cStr());
    task_ = retryArm().eagerlyEvaluate(nullptr);
  }
}

kj::Promise<std::uint64_t> NameWatch::next(std::uint64_t seen) {
  if (count_ > seen) return count_;
  return broadcast_.next().then([this]() { return count_; });
}

bool NameWatch::arm() {
  constexpr std::uint32_t kEvents =
      IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  const std::uint32_t others = name_.size() == 0 ? IN_CLOSE_WRITE | IN_DELETE : 0;
  descriptor_ = inotify_add_watch(inotify_.get(), directory_.cStr(), kEvents | others);
  return descriptor_ >= 0;
}

kj::Promise<void> NameWatch::watch() {
  return KJ_ASSERT_NONNULL(observer_).whenBecomesReadable().then([this]() {
    if (drain()) return watch();
    inotify_rm_watch(inotify_.get(), descriptor_);  // fails where the kernel removed it already
    return retryArm();
  });
}

kj::Promise<void> NameWatch::retryArm() {
  if (arm()) {
    appeared();
    return watch();
  }
  if (isInotifyUsedUp(errno)) appeared();
  return timer_.afterDelay(kRetry).then([this]() { return retryArm(); });
}

bool NameWatch::drain() {
  alignas(inotify_event) char buffer[4096];
  bool alive = true;
  while (true) {
    const ssize_t size = read(inotify_.get(), buffer, sizeof(buffer));
    if (size <= 0) return alive;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      memcpy(&event, buffer + at, sizeof(event));
      const char* name = buffer + at + sizeof(event);
      const bool meant = event.len > 0 && (name_.size() == 0 || name_ == name);
      if ((event.mask & IN_Q_OVERFLOW) != 0 || meant) appeared();
      const bool ours = event.wd == descriptor_;
      if (ours && (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) alive = false;
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
}

void NameWatch::appeared() {
  ++count_;
  broadcast_.notify();
}

}  // namespace vfiogate
