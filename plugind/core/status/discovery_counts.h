#pragma once
// How privd learns of the hardware's changes, counted since its start, and how it is confined.
// Source: privd.

#include <chrono>
#include <cstdint>

namespace vfiogate {

struct DiscoveryCounts {
  std::uint64_t looks = 0;         ///< at places that kernel events named
  std::uint64_t sweeps = 0;        ///< over everything
  std::uint64_t failedSweeps = 0;  ///< sysfs could not be listed
  std::chrono::nanoseconds sweepTime{0};
  std::uint64_t hints = 0;    ///< kernel events that led to a look
  std::uint64_t foreign = 0;  ///< events that did not come from the kernel: ignored
  std::uint64_t losses = 0;   ///< times that the kernel said that events were lost
  unsigned landlock = 0;      ///< the ABI of Landlock by which privd is confined; 0: it is not

  friend bool operator==(const DiscoveryCounts&, const DiscoveryCounts&) = default;
};

}  // namespace vfiogate
