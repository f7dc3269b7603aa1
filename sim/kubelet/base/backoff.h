#pragma once
// When what failed may be tried again.
// How long the kubelet's plugin watcher waits, and how often it polls (kubelet-contract.md 0).

#include <algorithm>
#include <chrono>

namespace vfiogate::sim {

/// Each failure in a row doubles the pause, up to a longest one. Not for several threads at once.
class Backoff {
public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Pause = std::chrono::milliseconds;

  Backoff(Pause first, Pause longest) : first_(first), longest_(longest) {}

  /// False until the pause since the last failure is over.
  bool mayTry(TimePoint now) const { return pause_ == Pause() || now - failed_ > pause_; }
  void failed(TimePoint now);
  /// The next failure is a first one again.
  void succeeded() { pause_ = Pause(); }
  /// Zero without a failure.
  Pause pause() const { return pause_; }

private:
  Pause first_;
  Pause longest_;
  Pause pause_ = Pause();
  TimePoint failed_;
};

inline void Backoff::failed(TimePoint now) {
  failed_ = now;
  pause_ = pause_ == Pause() ? first_ : std::min(longest_, 2 * pause_);
}

struct WatchLimits {
  using Limit = std::chrono::milliseconds;
  Limit every{1'000};  ///< between two rounds of what is to be done
  Limit dial{10'000};
  Limit info{1'000};
  Limit notify{5'000};
  Limit firstRetry{500};
  Limit longestRetry{122'000};
};

}  // namespace vfiogate::sim
