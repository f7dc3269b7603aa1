#pragma once
// Waits for several descriptors at once.

#include <poll.h>

#include <chrono>
#include <ctime>
#include <span>

namespace vfiogate {

/// Waits at most `longest`. False: none of them is ready, and none says that it is. Not poll(),
/// which another system call resumes in a process that was stopped and continued.
inline bool awaitAny(std::span<pollfd> sources, std::chrono::nanoseconds longest) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec timeout{whole.count(), (longest - whole).count()};
  const int ready = ppoll(sources.data(), sources.size(), &timeout, nullptr);
  if (ready > 0) return true;
  for (pollfd& source : sources) source.revents = 0;
  return false;
}

}  // namespace vfiogate
