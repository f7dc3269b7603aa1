#pragma once
// How much a process has, seen from outside.

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace vfiogate::test {

/// From /proc/<pid>, read as root.
struct ProcessSize {
  std::size_t residentKib = 0;
  std::size_t descriptors = 0;
  std::size_t threads = 0;

  /// "4120 KiB, 23 descriptors, 1 threads"
  std::string str() const;
};

/// Throws std::filesystem::filesystem_error if the process is gone.
ProcessSize sizeOf(pid_t pid);

}  // namespace vfiogate::test
