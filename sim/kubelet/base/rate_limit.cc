#include "sim/kubelet/base/rate_limit.h"

#include <algorithm>

namespace vfiogate::sim {

RateLimit::RateLimit(double aSecond, double atOnce, TimePoint now)
    : aSecond_(aSecond), atOnce_(atOnce), tokens_(atOnce), seen_(now) {}

bool RateLimit::allow(TimePoint now) {
  const std::chrono::duration<double> passed = std::max(now, seen_) - seen_;
  seen_ = std::max(now, seen_);
  tokens_ = std::min(atOnce_, tokens_ + passed.count() * aSecond_);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace vfiogate::sim
