#pragma once
// How long to wait before trying again, in any type of duration: std::chrono's, KJ's.

#include <algorithm>
#include <cstdint>

namespace vfiogate {

/// Between `least` and `most`, which is at most two hours: by `draw`, random in [0, 1).
template <typename Duration>
constexpr Duration within(Duration least, Duration most, double draw) {
  constexpr std::int64_t kParts = 1'000'000;
  return least + (most - least) * static_cast<std::int64_t>(draw * kParts) / kParts;
}

/// `first` doubled `times` times, but at most `cap`.
template <typename Duration>
constexpr Duration doubled(Duration first, unsigned times, Duration cap) {
  constexpr unsigned kMostDoublings = 16;
  return std::min(first * (std::int64_t{1} << std::min(times, kMostDoublings)), cap);
}

template <typename Duration>
struct BackoffRange {
  Duration first;
  Duration cap;
};

/// After `failures` in a row, at least one: between half and all of what `first` has doubled to, by
/// `draw`, random in [0, 1), so that many who failed together do not come back together.
template <typename Duration>
constexpr Duration backoffAfter(unsigned failures, BackoffRange<Duration> range, double draw) {
  const Duration whole = doubled(range.first, std::max(failures, 1U) - 1, range.cap);
  return within(whole / 2, whole, draw);
}

/// Counts the failures itself.
template <typename Duration>
class Backoff {
public:
  explicit Backoff(BackoffRange<Duration> range) : range_(range) {}

  /// The pause after another failure. `draw` is random in [0, 1).
  Duration next(double draw) { return backoffAfter(++failures_, range_, draw); }
  /// The same where nobody else tries at the same time: the whole of it.
  Duration next() { return doubled(range_.first, failures_++, range_.cap); }
  /// The next failure is a first one again.
  void reset() { failures_ = 0; }
  bool hasFailed() const { return failures_ != 0; }

private:
  BackoffRange<Duration> range_;
  unsigned failures_ = 0;
};

}  // namespace vfiogate
