#include "netd/dra/api/jitter.h"

#include <algorithm>
#include <cstdint>

namespace vfiogate {

kj::Duration within(kj::Duration least, kj::Duration most, double unit) {
  const auto span = static_cast<double>((most - least) / kj::NANOSECONDS);
  return least + static_cast<std::int64_t>(span * unit) * kj::NANOSECONDS;
}

kj::Duration doubled(kj::Duration first, unsigned times, kj::Duration most) {
  constexpr unsigned kMostDoublings = 16;
  return std::min(first * (std::int64_t{1} << std::min(times, kMostDoublings)), most);
}

kj::Duration backoffAfter(unsigned failures, kj::Duration first, kj::Duration most, double unit) {
  const auto whole = doubled(first, std::max(failures, 1U) - 1, most);
  return within(whole / 2, whole, unit);
}

}  // namespace vfiogate
