#pragma once
// How often somebody may call.

#include <algorithm>
#include <chrono>

namespace vfiogate::sim {

/// A token bucket, full at first. Not for several threads at once.
class RateLimit {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  RateLimit(double aSecond, double atOnce, TimePoint now);
  /// True if a call at `now` is within the limit, and counts it.
  bool allow(TimePoint now);

private:
  double aSecond_;
  double atOnce_;
  double tokens_;
  TimePoint seen_;
};

inline RateLimit::RateLimit(double aSecond, double atOnce, TimePoint now)
    : aSecond_(aSecond), atOnce_(atOnce), tokens_(atOnce), seen_(now) {}

inline bool RateLimit::allow(TimePoint now) {
  const std::chrono::duration<double> passed = std::max(now, seen_) - seen_;
  seen_ = std::max(now, seen_);
  tokens_ = std::min(atOnce_, tokens_ + passed.count() * aSecond_);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace vfiogate::sim
