#pragma once
// How long to wait before trying again.

#include <algorithm>
#include <chrono>

namespace vfiogate {

/// Doubles from `first` to `cap`; each pause is drawn between half and the whole of that, so that
/// many who failed together do not come back together.
class Backoff {
public:
  struct Range {
    std::chrono::milliseconds first;
    std::chrono::milliseconds cap;
  };

  explicit Backoff(Range range) : range_(range), next_(range.first) {}

  /// `draw` is uniform in [0, 1).
  std::chrono::milliseconds next(double draw);
  void reset() { next_ = range_.first; }

private:
  Range range_;
  std::chrono::milliseconds next_;
};

inline std::chrono::milliseconds Backoff::next(double draw) {
  const auto whole = next_;
  next_ = std::min(next_ * 2, range_.cap);
  const auto half = whole / 2;
  const double extra = static_cast<double>((whole - half).count()) * draw;
  return half + std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(extra));
}

}  // namespace vfiogate
