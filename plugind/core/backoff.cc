#include "plugind/core/backoff.h"

#include <algorithm>

namespace vfiogate {

std::chrono::milliseconds Backoff::next(double draw) {
  const auto whole = next_;
  next_ = std::min(next_ * 2, range_.cap);
  const auto half = whole / 2;
  const double extra = static_cast<double>((whole - half).count()) * draw;
  return half + std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(extra));
}

}  // namespace vfiogate
