#pragma once
// How many lines of one kind a log may have.

#include <chrono>
#include <cstdint>

namespace vfiogate {

/// 256 at once and 10 a second for long: whatever sends more, the log stays readable and its file
/// small. What is not told is counted.
class LineAllowance {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// True: a line may be told at `now`. False: it is counted instead.
  bool take(Time now) {
    while (left_ < kAtOnce && now - filled_ >= kPause) {
      ++left_;
      filled_ = left_ == kAtOnce ? now : filled_ + kPause;
    }
    if (left_ == kAtOnce) filled_ = now;
    if (left_ == 0) {
      leaveOut(1);
      return false;
    }
    --left_;
    return true;
  }

  /// So many that were permitted did not get out.
  void leaveOut(std::uint64_t count) { leftOut_ += count; }

  /// How many were not told since the last call.
  std::uint64_t takeLeftOut() {
    const std::uint64_t count = leftOut_;
    leftOut_ = 0;
    return count;
  }

private:
  static constexpr unsigned kAtOnce = 256;
  static constexpr std::chrono::milliseconds kPause{100};

  unsigned left_ = kAtOnce;
  Time filled_{};
  std::uint64_t leftOut_ = 0;
};

}  // namespace vfiogate
