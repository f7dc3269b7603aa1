#pragma once
// How often somebody may call.

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

}  // namespace vfiogate::sim
