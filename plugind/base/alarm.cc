#include "plugind/base/alarm.h"

#include "plugind/base/log_line.h"

#include <algorithm>
#include <utility>

namespace vfiogate {

Alarm::Alarm(kj::Timer& timer, std::function<void()> ring)
    : timer_(timer), ring_(std::move(ring)) {}

void Alarm::set(std::optional<Instant> due) {
  if (!due) {
    wait_ = nullptr;
    return;
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(*due - std::chrono::steady_clock::now());
  const auto wait = std::max<std::int64_t>(left.count(), 0) * kj::NANOSECONDS;
  const auto failed = [](kj::Exception&& why) {
    logError(LogEvent::kTaskFailed, {{"task", "alarm"}, {"why", why.getDescription().cStr()}});
  };
  wait_ = timer_.afterDelay(wait)
              .then([this, failed]() {
                ringing_ = kj::evalLater([this]() { ring_(); }).eagerlyEvaluate(failed);
              })
              .eagerlyEvaluate(nullptr);
}

}  // namespace vfiogate
