#pragma once
// The hardware as it is now, for everybody who wants to know.

#include "ipc/types/snapshot.h"
#include "privd/bell.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>

namespace vfiogate {

/// Looks again on a hint or on a timer, and counts generations. A look that finds what was there
/// makes no generation. Hints in quick succession make one look.
class SnapshotSource final : private kj::TaskSet::ErrorHandler {
public:
  struct Current {
    std::uint64_t epoch;       ///< drawn at the start of this process
    std::uint64_t generation;  ///< from 1
    std::shared_ptr<const Snapshot> snapshot;
  };

  /// Looks once before it returns. `rescan` is the longest time between two looks.
  SnapshotSource(kj::Timer& timer, std::uint64_t epoch, kj::Duration rescan,
                 kj::Function<Snapshot()> look);

  Current current() const { return {epoch_, generation_, snapshot_}; }

  /// Resolves with what is current as soon as its generation is above `seen`.
  kj::Promise<Current> next(std::uint64_t seen);

  /// Something may have changed: looks within 200 ms, and after 20 ms without another hint.
  void hint();

private:
  kj::Promise<void> onTimer();
  kj::Promise<void> settle();
  void look();
  void taskFailed(kj::Exception&& exception) override;

  kj::Timer& timer_;
  std::uint64_t epoch_;
  kj::Duration rescan_;
  kj::Function<Snapshot()> look_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  bool settling_ = false;
  kj::TimePoint firstHint_;
  kj::TimePoint lastHint_;
  Bell bell_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
