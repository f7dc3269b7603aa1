#include "tests/bench/name_clock.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace vfiogate::bench {
namespace {

constexpr int kPatienceMs = 30'000;

}  // namespace

NameClock::NameClock(const std::string& directory, std::string name)
    : name_(std::move(name)), inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (inotify_add_watch(inotify_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0) {
    giveUp("cannot watch " + directory);
  }
}

Clock::time_point NameClock::await() {
  pollfd waiting{.fd = inotify_.get(), .events = POLLIN, .revents = 0};
  alignas(inotify_event) char buffer[4096];
  while (poll(&waiting, 1, kPatienceMs) > 0) {
    const auto now = Clock::now();
    const ssize_t size = read(inotify_.get(), buffer, sizeof(buffer));
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      memcpy(&event, buffer + at, sizeof(event));
      if (event.len > 0 && name_ == buffer + at + sizeof(event)) return now;
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  giveUp(name_ + " was not made");
}

}  // namespace vfiogate::bench
