#pragma once
// In which order and how often kernel events reach their listeners, for tests of those.

#include <chrono>
#include <optional>
#include <random>
#include <vector>

#include "sim/sysfs/kernel/uevent.h"

namespace vfiogate::sim {

/// Pure: what is held back comes out by the caller's clock. None is ever lost.
class UeventDelivery {
public:
  using Instant = std::chrono::steady_clock::time_point;

  /// Nothing came for this long: what was held back goes out.
  static constexpr std::chrono::milliseconds kQuiet{5};
  /// While more comes, this many are held back.
  static constexpr std::size_t kHeldBack = 24;

  /// As is: each event once, in the kernel's order.
  UeventDelivery() = default;
  /// Each event three times, mixed with those around it.
  static UeventDelivery thrice(unsigned seed);

  /// `fresh` happened; what goes out now.
  std::vector<Uevent> take(std::vector<Uevent> fresh, Instant now);

  /// When to take() even if nothing happens. Absent: nothing is held back.
  std::optional<Instant> due() const;

private:
  std::optional<std::minstd_rand> random_;  ///< absent: as is
  std::vector<Uevent> held_;
  Instant lastCame_;
};

}  // namespace vfiogate::sim
