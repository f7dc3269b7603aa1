#pragma once
// How long to wait before trying again.

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

}  // namespace vfiogate
