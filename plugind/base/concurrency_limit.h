#pragma once
// Lets only so many in at a time, in the order of arrival.

#include <kj/async.h>
#include <kj/common.h>

#include <memory>

namespace vfiogate {

/// privd closes a connection with too many open calls: every call is counted here first. The loop's
/// thread only.
class ConcurrencyLimit {
public:
  explicit ConcurrencyLimit(unsigned places);

  /// Carries out `call`, a callable that returns a promise, as soon as there is a place, and keeps
  /// the place until that promise is done or dropped. May outlive the limit.
  template <typename Call>
  auto pass(Call call) -> decltype(call()) {
    return enter().then(
        [call = kj::mv(call)](Place place) mutable { return call().attach(kj::mv(place)); });
  }

private:
  struct Hall;
  /// Gives itself back when dropped.
  using Place = std::shared_ptr<void>;

  static Place placeIn(const std::shared_ptr<Hall>& hall);
  kj::Promise<Place> enter();

  std::shared_ptr<Hall> hall_;
};

}  // namespace vfiogate
