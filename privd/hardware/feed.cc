#include "privd/hardware/feed.h"

#include "ipc/codec/snapshot_codec.h"

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
  Update update{.epoch = current.epoch, .generation = current.generation};
  if (taken_ == nullptr) {
    update.content = *current.snapshot;
  } else {
    update.content = UpdateDelta{takenGeneration_, diff(*taken_, *current.snapshot)};
  }
  auto request = observer_.changedRequest();
  encode(update, request.initUpdate(),
         [this](const IommuGroup& group) -> kj::Maybe<schema::GroupControl::Client> {
           return place_.controls.of(group);
         });
  place_.controls.keepOnly(*current.snapshot);
  return request.send().ignoreResult();
}

}  // namespace vfiogate
