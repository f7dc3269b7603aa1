#include "netd/dra/publish_pacing.h"

#include <algorithm>
#include <cstdint>

namespace vfiogate {
namespace {

kj::Duration within(kj::Duration least, kj::Duration most, double unit) {
  const auto span = static_cast<double>((most - least) / kj::NANOSECONDS);
  return least + static_cast<std::int64_t>(span * unit) * kj::NANOSECONDS;
}

std::int64_t doublings(unsigned times) {
  constexpr unsigned kMostDoublings = 16;
  return std::int64_t{1} << std::min(times, kMostDoublings);
}

}  // namespace

kj::Duration startDelay(double unit) {
  return within(0 * kj::SECONDS, kStartSpread, unit);
}

kj::Duration settleTime(unsigned repairs, double unit) {
  return std::min(within(kSettleLeast, kSettleMost, unit) * doublings(repairs), kSettleCap);
}

kj::Duration publishBackoff(unsigned failures, double unit) {
  const auto most =
      std::min(kPublishBackoff * doublings(std::max(failures, 1U) - 1), kMostPublishBackoff);
  return within(most / 2, most, unit);
}

kj::Duration watchTime(double unit) {
  return within(kWatchLeast, kWatchMost, unit);
}

}  // namespace vfiogate
