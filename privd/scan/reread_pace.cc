#include "privd/scan/reread_pace.h"

namespace vfiogate {
namespace {

/// One act of the kernel has several events, the last some 100 us after the first.
constexpr auto kTogether = 1 * kj::MILLISECONDS;
constexpr auto kQuiet = 100 * kj::MILLISECONDS;
constexpr auto kShortestGap = 5 * kj::MILLISECONDS;
constexpr auto kLongestGap = 200 * kj::MILLISECONDS;

constexpr auto kSweepLatest = 1 * kj::SECONDS;
constexpr int kRestPerWork = 9;

}  // namespace

void RereadPace::hinted(kj::TimePoint now) {
  bool quiet = true;
  KJ_IF_MAYBE (last, lastHint_) quiet = now - *last >= kQuiet && now - lastReread_ >= kQuiet;
  if (quiet) gap_ = 0 * kj::NANOSECONDS;
  lastHint_ = now;
  if (due_ == nullptr) due_ = kj::max(now + kTogether, lastReread_ + gap_);
}

void RereadPace::wasRead(kj::TimePoint now) {
  due_ = nullptr;
  lastReread_ = now;
  gap_ = kj::min(kj::max(gap_ * 2, kShortestGap), kLongestGap);
}

void SweepPace::hinted(kj::TimePoint now) {
  if (firstHint_ == nullptr) firstHint_ = now;
  lastHint_ = now;
}

void SweepPace::anywhere(kj::TimePoint now) {
  if (anywhere_ == nullptr) anywhere_ = now;
}

void SweepPace::began() {
  firstHint_ = nullptr;
  lastHint_ = nullptr;
  anywhere_ = nullptr;
}

void SweepPace::ended(kj::TimePoint now, kj::Duration spent) {
  ended_ = now;
  rest_ = spent * kRestPerWork;
}

kj::TimePoint SweepPace::due() const {
  const kj::TimePoint byTimer = ended_ + rescan_;
  kj::Maybe<kj::TimePoint> asked;
  KJ_IF_MAYBE (first, firstHint_) {
    KJ_IF_MAYBE (last, lastHint_) asked = kj::min(*last + kQuiet, *first + kSweepLatest);
  }
  KJ_IF_MAYBE (since, anywhere_) {
    const kj::TimePoint soon = *since + kTogether;
    KJ_IF_MAYBE (later, asked) {
      asked = kj::min(*later, soon);
    } else {
      asked = soon;
    }
  }
  KJ_IF_MAYBE (when, asked) return kj::min(byTimer, kj::max(*when, ended_ + rest_));
  return byTimer;
}

}  // namespace vfiogate
