#include "privd/base/instance_lock.h"

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace vfiogate {
namespace {

constexpr int kTries = 1000;
constexpr auto kPause = std::chrono::milliseconds(1);

}  // namespace

bool lockIfFree(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK) KJ_FAIL_SYSCALL("flock", errno);
  return false;
}

bool lockSoon(int fd) {
  // The filter has no sleep, but the runtime's locks, which can wait for what never comes.
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock held(mutex);
  for (int tries = 0; tries < kTries; ++tries) {
    if (lockIfFree(fd)) return true;
    never.wait_for(held, kPause);
  }
  return lockIfFree(fd);
}

void unlock(int fd) {
  KJ_SYSCALL(flock(fd, LOCK_UN));
}

Result<InstanceLock, ReadError> InstanceLock::open(const std::string& stateDir,
                                                   const std::string& name) {
  if (mkdir(stateDir.c_str(), 0700) != 0 && errno != EEXIST) return Failure{ReadError{errno}};
  const std::string path = stateDir + "/" + name;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Failure{ReadError{errno}};
  return InstanceLock(kj::AutoCloseFd(fd));
}

bool InstanceLock::tryTake() {
  if (!lockIfFree(file_)) return false;
  char host[65] = {};
  gethostname(host, sizeof(host) - 1);
  const std::string who = "pid=" + std::to_string(getpid()) + " host=" + host + "\n";
  // On a disk that is full it has the lock all the same; no name is in it, or that of one before.
  [[maybe_unused]] const bool said = pwrite(file_, who.data(), who.size(), 0) >= 0 &&
                                     ftruncate(file_, static_cast<off_t>(who.size())) == 0;
  return true;
}

std::string InstanceLock::holder() const {
  char text[128];
  const ssize_t size = pread(file_, text, sizeof(text), 0);
  const std::string who(text, size < 0 ? 0 : static_cast<std::size_t>(size));
  return who.substr(0, who.find('\n'));
}

}  // namespace vfiogate
