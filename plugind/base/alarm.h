#pragma once
// Wakes its owner at a moment that may change.

#include "plugind/core/moment.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <optional>

namespace vfiogate {

/// The loop's thread only.
class Alarm {
public:
  /// `ring` is called in a turn of the loop of its own, so it may set the alarm anew. What it
  /// throws is logged.
  Alarm(kj::Timer& timer, std::function<void()> ring);

  /// In place of the moment set before; null: never. One that has passed rings as soon as it can.
  void set(std::optional<Instant> due);

private:
  kj::Timer& timer_;
  const std::function<void()> ring_;
  kj::Promise<void> wait_ = nullptr;
  kj::Promise<void> ringing_ = nullptr;  ///< apart from the wait, which must not end itself
};

}  // namespace vfiogate
