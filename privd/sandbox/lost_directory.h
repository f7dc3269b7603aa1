#pragma once
// Tells the daemon's loop when a directory is lost.

#include "privd/sandbox/lasting_directories.h"

#include <kj/async.h>
#include <kj/timer.h>

namespace vfiogate {

/// Resolves as soon as one is lost, with what was; polls every 2 s.
inline kj::Promise<LastingDirectories::Lost> whenLost(const LastingDirectories& directories,
                                                      kj::Timer& timer) {
  if (const auto lost = directories.lost()) return *lost;
  return timer.afterDelay(2 * kj::SECONDS).then([&directories, &timer]() {
    return whenLost(directories, timer);
  });
}

}  // namespace vfiogate
