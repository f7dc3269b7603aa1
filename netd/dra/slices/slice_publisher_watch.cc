// What a publisher hears of its slices, by a watch.

#include "netd/dra/slices/publish_pacing.h"
#include "netd/dra/slices/slice_publisher.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kGone = 410;

}  // namespace

kj::Promise<void> SlicePublisher::watch(const SliceSelector& of) {
  const std::int64_t seconds = watchTime(draw_()) / kj::SECONDS;
  const std::string path = sliceWatchPath(of, view_.version(), seconds);
  return client_.watch(path, [this, api = of.api](const std::string& line) { hear(api, line); })
      .then([this, of](Outcome outcome) { return watchAgain(of, outcome); });
}

kj::Promise<void> SlicePublisher::watchAgain(const SliceSelector& of, const Outcome& outcome) {
  if (expired_ || hasStatus(outcome, kGone)) {
    expired_ = true;
    disturb();
    return kj::READY_NOW;
  }
  if (isGood(outcome)) {
    watchFailures_ = 0;
    return timer_.afterDelay(settleTime(0, draw_())).then([this, of]() { return watch(of); });
  }
  const Trouble trouble = troubleOf("cannot watch ResourceSlices", outcome);
  tell(trouble.why);
  // All nodes lose their watches at the same moment, where the server restarts; it may be another.
  return timer_
      .afterDelay(startDelay(draw_()) + trouble.asked + publishBackoff(++watchFailures_, draw_()))
      .then([this]() { return versions_.ask(client_); })
      .then([this, of](const ApiVersions::Found& found) -> kj::Promise<void> {
        if (!found || *found == of.api) return watch(of);
        api_ = *found;
        wake();
        return kj::READY_NOW;
      });
}

void SlicePublisher::hear(ResourceApi api, const std::string& line) {
  if (expired_) return;
  watchFailures_ = 0;
  const SliceEvent event = sliceEventFrom(api, line);
  if (event.kind == SliceEvent::Kind::kExpired) {
    expired_ = true;
    // Nothing it says from now on is heard, and it may stand for minutes.
    disturb();
    return;
  }
  const bool deleted = event.kind == SliceEvent::Kind::kDeleted;
  if (!view_.hear(event) || isOurs(event)) return;
  if (deleted) owner_.reset();  // it may be that the Node is another one now
  disturb();
}

bool SlicePublisher::isOurs(const SliceEvent& event) {
  if (!writing_ || writing_->slice.name != event.slice.name) return false;
  const bool deleting = writing_->kind == SliceWrite::Kind::kDelete;
  if (event.kind == SliceEvent::Kind::kDeleted) return deleting;
  return !deleting && !std::exchange(heardOurs_, true);
}

void SlicePublisher::disturb() {
  if (std::exchange(disturbed_, true)) return;
  settled_ = false;
  if (timer_.now() - repaired_ > kSettleForgotten) repairs_ = 0;
  settling_ = timer_.afterDelay(settleTime(repairs_, draw_()))
                  .then([this]() {
                    settled_ = true;
                    wake();
                  })
                  .eagerlyEvaluate(nullptr);
}

}  // namespace vfiogate
