#include "privd/gate/directory_watch.h"

#include "privd/base/log_line.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// Reads, so that a flood of events cannot keep the loop from its other work.
constexpr int kMostAtOnce = 64;
constexpr std::uint32_t kLost = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED;

}  // namespace

DirectoryWatch::DirectoryWatch(const std::vector<std::string>& directories)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  for (const std::string& path : directories) {
    directories_.push_back({path});
    if (!arm(directories_.back())) tellUnwatched(errno, path);
  }
}

bool DirectoryWatch::drain() {
  alignas(inotify_event) char buffer[4096];
  bool changed = false;
  for (int reads = 0; reads < kMostAtOnce; ++reads) {
    const ssize_t size = read(inotify_, buffer, sizeof(buffer));
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      memcpy(&event, buffer + at, sizeof(event));
      if (event.len > 0 || (event.mask & (IN_Q_OVERFLOW | kLost)) != 0) changed = true;
      if ((event.mask & kLost) != 0) lose(event.wd);
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  return changed;
}

bool DirectoryWatch::retry() {
  bool back = false;
  for (Directory& directory : directories_) {
    if (directory.watch < 0 && (arm(directory) || isInotifyUsedUp(errno))) back = true;
  }
  return back;
}

bool DirectoryWatch::arm(Directory& directory) {
  directory.watch = inotify_add_watch(inotify_, directory.path.c_str(), kEvents);
  return directory.watch >= 0;
}

void DirectoryWatch::lose(int watch) {
  for (Directory& directory : directories_) {
    if (directory.watch != watch) continue;
    inotify_rm_watch(inotify_, watch);  // fails where the kernel removed it already
    directory.watch = -1;
  }
}

}  // namespace vfiogate
