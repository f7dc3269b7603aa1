#include "privd/snapshot_source.h"

#include "privd/log_line.h"

namespace vfiogate {
namespace {

constexpr auto kQuiet = 20 * kj::MILLISECONDS;
constexpr auto kLatest = 200 * kj::MILLISECONDS;

}  // namespace

SnapshotSource::SnapshotSource(kj::Timer& timer, std::uint64_t epoch, kj::Duration rescan,
                               kj::Function<Snapshot()> look)
    : timer_(timer),
      epoch_(epoch),
      rescan_(rescan),
      look_(kj::mv(look)),
      firstHint_(timer.now()),
      lastHint_(timer.now()),
      tasks_(*this) {
  this->look();
  tasks_.add(onTimer());
}

kj::Promise<SnapshotSource::Current> SnapshotSource::next(std::uint64_t seen) {
  if (generation_ > seen) return current();
  return bell_.next().then([this]() { return current(); });
}

void SnapshotSource::hint() {
  lastHint_ = timer_.now();
  if (settling_) return;
  settling_ = true;
  firstHint_ = lastHint_;
  tasks_.add(settle());
}

kj::Promise<void> SnapshotSource::onTimer() {
  return timer_.afterDelay(rescan_).then([this]() {
    look();
    return onTimer();
  });
}

kj::Promise<void> SnapshotSource::settle() {
  const kj::TimePoint due = kj::min(lastHint_ + kQuiet, firstHint_ + kLatest);
  return timer_.atTime(due).then([this]() -> kj::Promise<void> {
    const bool quiet = timer_.now() - lastHint_ >= kQuiet;
    if (!quiet && timer_.now() - firstHint_ < kLatest) return settle();
    settling_ = false;
    look();
    return kj::READY_NOW;
  });
}

void SnapshotSource::look() {
  Snapshot seen;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() { seen = look_(); })) {
    // What was seen last stands, and the next hint or the timer tries again.
    taskFailed(kj::mv(*exception));
    return;
  }
  if (snapshot_ != nullptr && *snapshot_ == seen) return;
  snapshot_ = std::make_shared<const Snapshot>(std::move(seen));
  ++generation_;
  bell_.ring();
}

void SnapshotSource::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kScanFailed, {{"error", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
