#pragma once
// How privd learns of the hardware's changes, in numbers.

#include <array>
#include <cstddef>
#include <cstdint>

namespace vfiogate {

/// Since privd's start, but for kLandlock. Appended to only: its order is the wire's.
enum class DiscoveryCount : std::uint8_t {
  kRereads,           ///< at places that kernel events named
  kSweeps,            ///< over everything, that came to their end
  kFailedSweeps,      ///< sysfs could not be listed
  kSweepNanoseconds,  ///< spent on all sweeps
  kHints,             ///< kernel events that led to a reread
  kForeign,           ///< events that did not come from the kernel: ignored
  kLosses,            ///< times that the kernel said that events were lost
  kLandlock,          ///< the ABI of Landlock by which privd is confined; 0: it is not
};
inline constexpr std::size_t kDiscoveryCounts = 8;

class DiscoveryCounts {
public:
  std::uint64_t& operator[](DiscoveryCount count) {
    return values_[static_cast<std::size_t>(count)];
  }
  std::uint64_t operator[](DiscoveryCount count) const {
    return values_[static_cast<std::size_t>(count)];
  }
  friend bool operator==(const DiscoveryCounts&, const DiscoveryCounts&) = default;

private:
  std::array<std::uint64_t, kDiscoveryCounts> values_{};
};

}  // namespace vfiogate
