#pragma once
// When to reread, after hints: soon after a single one, seldom while they keep coming.

#include <kj/time.h>

namespace vfiogate {

/// What is read without a hint: at the latest so long after the last sweep, or the last glance.
struct Rescan {
  kj::Duration sweep;
  kj::Duration glance;

  /// For where the kernel's events are heard.
  static constexpr Rescan mostlyGlances(kj::Duration every) { return {30 * every, every}; }
  /// For where they are not, and for commands.
  static constexpr Rescan onlySweeps(kj::Duration every) { return {every, every}; }
};

/// For rereads of the places that hints name. The first hint after a quiet time is read within a
/// millisecond; while hints keep coming rereads are 5, 10, 20 and so on up to 200 ms apart, so that
/// a burst makes few frames. 100 ms without a hint are quiet.
class RereadPace {
public:
  void hinted(kj::TimePoint now);
  void wasRead(kj::TimePoint now);

  /// Null: nothing is waiting.
  kj::Maybe<kj::TimePoint> due() const { return due_; }

private:
  kj::Maybe<kj::TimePoint> due_;
  kj::Maybe<kj::TimePoint> lastHint_;
  kj::TimePoint lastReread_ = kj::origin<kj::TimePoint>();
  kj::Duration gap_ = 0 * kj::NANOSECONDS;
};

/// For sweeps over everything there is. One follows every burst of hints, 100 ms after the last and
/// 1 s after the first of them at the latest, so that what the hints did not name is not missed;
/// one comes at once where events were lost; and one comes after `rescan` without any. At most a
/// tenth of the time is spent on them, but for that of the timer.
class SweepPace {
public:
  SweepPace(kj::Duration rescan, kj::TimePoint now) : rescan_(rescan), ended_(now) {}

  void hinted(kj::TimePoint now);
  /// Something may have changed anywhere.
  void anywhere(kj::TimePoint now);
  /// Hints since `began` count for the next one.
  void began();
  void ended(kj::TimePoint now, kj::Duration spent);

  kj::TimePoint due() const;

private:
  kj::Duration rescan_;
  kj::TimePoint ended_;
  kj::Duration rest_ = 0 * kj::NANOSECONDS;
  kj::Maybe<kj::TimePoint> firstHint_;
  kj::Maybe<kj::TimePoint> lastHint_;
  kj::Maybe<kj::TimePoint> anywhere_;
};

}  // namespace vfiogate
