#include "sim/kubelet/base/backoff.h"

#include <algorithm>

namespace vfiogate::sim {

void Backoff::failed(TimePoint now) {
  failed_ = now;
  pause_ = pause_ == Pause() ? first_ : std::min(longest_, 2 * pause_);
}

}  // namespace vfiogate::sim
