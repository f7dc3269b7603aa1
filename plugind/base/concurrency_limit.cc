#include "plugind/base/concurrency_limit.h"

#include <deque>

namespace vfiogate {

struct ConcurrencyLimit::Hall {
  unsigned free;
  std::deque<kj::Own<kj::PromiseFulfiller<Place>>> waiting;
};

ConcurrencyLimit::ConcurrencyLimit(unsigned places)
    : hall_(std::make_shared<Hall>(Hall{places, {}})) {}

ConcurrencyLimit::Place ConcurrencyLimit::placeIn(const std::shared_ptr<Hall>& hall) {
  --hall->free;
  return Place(nullptr, [hall](void*) {
    ++hall->free;
    while (hall->free > 0 && !hall->waiting.empty()) {
      auto next = kj::mv(hall->waiting.front());
      hall->waiting.pop_front();
      if (next->isWaiting()) next->fulfill(placeIn(hall));
    }
  });
}

kj::Promise<ConcurrencyLimit::Place> ConcurrencyLimit::enter() {
  if (hall_->free > 0) return placeIn(hall_);
  auto turn = kj::newPromiseAndFulfiller<Place>();
  hall_->waiting.push_back(kj::mv(turn.fulfiller));
  return kj::mv(turn.promise);
}

}  // namespace vfiogate
