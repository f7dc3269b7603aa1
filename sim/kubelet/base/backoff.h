#pragma once
// When what failed may be tried again.

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

}  // namespace vfiogate::sim
