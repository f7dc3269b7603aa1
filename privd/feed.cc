#include "privd/feed.h"

#include "ipc/codec/encode_snapshot.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

constexpr auto kPatience = 10 * kj::SECONDS;

}  // namespace

Feed::Feed(Place place, schema::Observer::Client observer, kj::Function<void(kj::StringPtr)> failed)
    : place_(place),
      observer_(kj::mv(observer)),
      task_(pump()
                .catch_([failed = kj::mv(failed)](kj::Exception&& e) mutable {
                  failed(e.getDescription());
                })
                .eagerlyEvaluate(nullptr)) {}

kj::Promise<void> Feed::pump() {
  return place_.source.next(takenGeneration_).then([this](SnapshotSource::Current current) {
    auto late = place_.timer.afterDelay(kPatience).then([]() -> kj::Promise<void> {
      return KJ_EXCEPTION(OVERLOADED, "an observer kept an update for 10 s");
    });
    return send(current).exclusiveJoin(kj::mv(late)).then([this, current]() {
      taken_ = current.snapshot;
      takenGeneration_ = current.generation;
      return pump();
    });
  });
}

kj::Promise<void> Feed::send(const SnapshotSource::Current& current) {
  auto request = observer_.changedRequest();
  auto update = request.initUpdate();
  const ControlFor controlFor = [this](const IommuGroup& group) { return controlOf(group); };
  update.setEpoch(current.epoch);
  update.setGeneration(current.generation);
  if (taken_ == nullptr) {
    encodeSnapshot(*current.snapshot, update.initFull(), controlFor);
  } else {
    encodeDelta(takenGeneration_, diff(*taken_, *current.snapshot), update.initDelta(), controlFor);
  }
  KJ_IF_MAYBE (controls, place_.controls) controls->keepOnly(*current.snapshot);
  return request.send().ignoreResult();
}

kj::Maybe<schema::GroupControl::Client> Feed::controlOf(const IommuGroup& group) {
  KJ_IF_MAYBE (controls, place_.controls) return controls->of(group);
  return nullptr;
}

}  // namespace vfiogate
