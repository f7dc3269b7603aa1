#pragma once
// What a process can say of its own cost behind its filter: nothing here opens a file.

#include <malloc.h>

#include <chrono>
#include <ctime>

namespace vfiogate {

class ProcessFigures {
public:
  /// Notes the time: make it at the start of the process.
  ProcessFigures() : start_(std::chrono::system_clock::now()) {}

  /// When it was made, in seconds since 1970.
  double startSeconds() const {
    return std::chrono::duration<double>(start_.time_since_epoch()).count();
  }

  /// Processor time of all threads since the process began, in seconds; 0 where it is not told.
  static double cpuSeconds() {
    timespec spent{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0) return 0;
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
  }

  /// What malloc has handed out and not got back, in bytes: less than the resident memory.
  static double heapBytes() {
    const struct mallinfo2 heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
  }

private:
  const std::chrono::system_clock::time_point start_;
};

}  // namespace vfiogate
