#pragma once
// When a file of this name was made in a directory.

#include "tests/bench/node_under_test.h"

#include <kj/io.h>

#include <string>

namespace vfiogate::bench {

/// Begins to watch when it is made. Not the file's own times: the kernel takes those from a clock
/// of 4 ms.
class NameClock {
public:
  NameClock(const std::string& directory, std::string name);

  /// Waits until it is made, or moved there; what was made before this object does not count. To be
  /// called before that happens, on a thread that has nothing else to do.
  Clock::time_point await();

private:
  const std::string name_;
  const kj::AutoCloseFd inotify_;
};

}  // namespace vfiogate::bench
