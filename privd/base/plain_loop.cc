#include "privd/base/plain_loop.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace vfiogate {

Result<kj::AutoCloseFd, ReadError> takeEndSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  if (sigprocmask(SIG_BLOCK, &ends, nullptr) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR) {
    kj::AutoCloseFd signals(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
    if (signals.get() >= 0) return signals;
  }
  return Failure{ReadError{errno}};
}

bool awaitAny(std::span<pollfd> sources, std::chrono::nanoseconds longest) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec timeout{whole.count(), (longest - whole).count()};
  const int ready = ppoll(sources.data(), sources.size(), &timeout, nullptr);
  if (ready > 0) return true;
  for (pollfd& source : sources) source.revents = 0;
  return false;
}

}  // namespace vfiogate
