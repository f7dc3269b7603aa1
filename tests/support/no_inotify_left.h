#pragma once
// A user who has used up the inotify instances that the kernel gives one user.

#include <sys/inotify.h>
#include <unistd.h>

#include <kj/debug.h>
#include <kj/io.h>

#include <vector>

namespace vfiogate::test {

/// This process is that user, until destroyed; others of the machine's are not touched. Needs root.
class NoInotifyLeft {
public:
  NoInotifyLeft() {
    KJ_SYSCALL(seteuid(kUser));
    int fd = -1;
    while ((fd = inotify_init1(IN_CLOEXEC)) >= 0) instances_.emplace_back(fd);
  }
  ~NoInotifyLeft() noexcept(false) {
    instances_.clear();
    KJ_SYSCALL(seteuid(0));
  }
  KJ_DISALLOW_COPY(NoInotifyLeft);

private:
  static constexpr uid_t kUser = 64999;
  std::vector<kj::AutoCloseFd> instances_;
};

}  // namespace vfiogate::test
