#pragma once
// The hardware as it is now, for everybody who wants to know.

#include "ipc/types/discovery_counts.h"
#include "privd/base/broadcast.h"
#include "privd/scan/pci_scan.h"
#include "privd/scan/reread_pace.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace vfiogate {

/// How the hardware is read.
struct ScanDeps {
  kj::Function<Places()> everything;                    ///< throws: cannot be listed
  kj::Function<bool(const Places&, Snapshot&)> reread;  ///< as reread()
};

/// Borrows both.
ScanDeps scanDeps(const SysfsRoot& sysfs, const DevRoot& dev);

/// Rereads where a hint points, sweeps over everything afterwards and on a timer, and counts
/// generations. A reread that finds what was there makes no generation. A sweep goes in small
/// parts, between which everything else goes on.
class SnapshotSource final : private kj::TaskSet::ErrorHandler {
public:
  struct Current {
    std::uint64_t epoch;       ///< drawn at the start of this process
    std::uint64_t generation;  ///< from 1
    std::shared_ptr<const Snapshot> snapshot;
  };

  /// Sees everything before it returns; generation 0: sysfs could not be listed. `rescan` is the
  /// longest time between two sweeps. What is read is counted in `counts`.
  SnapshotSource(kj::Timer& timer, std::uint64_t epoch, kj::Duration rescan, ScanDeps deps,
                 DiscoveryCounts& counts);

  Current current() const { return {epoch_, generation_, snapshot_}; }

  /// Resolves with what is current as soon as its generation is above `seen`.
  kj::Promise<Current> next(std::uint64_t seen);

  /// Something may have changed there; no place at all: anywhere.
  void hint(const Places& where);

  /// Rereads there before it returns.
  void rereadNow(const Places& where);

private:
  struct Sweep {
    std::vector<Bdf> devices;
    std::vector<Uuid> mediated;
    std::set<IommuGroupId> groups;
    std::size_t next = 0;  ///< of `devices`, then of `mediated`
    kj::Duration spent = 0 * kj::NANOSECONDS;
  };

  kj::Promise<void> run();
  kj::TimePoint due() const;
  void act();
  void beginSweep();
  /// Rereads the next part of a sweep, and ends it after the last.
  void goOn(Sweep& sweep);
  void reread(const Places& where);
  void publish();
  void taskFailed(kj::Exception&& exception) override;

  kj::Timer& timer_;
  std::uint64_t epoch_;
  ScanDeps deps_;
  RereadPace rereadPace_;
  SweepPace sweepPace_;
  Places hinted_;
  kj::Maybe<Sweep> sweep_;
  Snapshot seen_;  ///< what was read; snapshot_ is a copy
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  DiscoveryCounts& counts_;
  Broadcast broadcast_;
  Broadcast sooner_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
