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
  kj::Function<Places()> everything;                    ///< for a sweep; throws: cannot be listed
  kj::Function<Places()> names;                         ///< the same, for a glance
  kj::Function<Glance(const PciDevice&)> glance;        ///< as glanceAt()
  kj::Function<bool(const Places&, Snapshot&)> reread;  ///< as reread()
};

/// Borrows both.
ScanDeps scanDeps(const SysfsRoot& sysfs, const DevRoot& dev);

/// Rereads where a hint points, sweeps over everything afterwards and, seldom, on a timer, and
/// counts generations. Between sweeps it glances, on a timer, too: a device that differs is reread,
/// and what an event should have told makes a sweep. A reread that finds what was there makes no
/// generation. Sweeps and glances go in small parts, between which everything else goes on.
class SnapshotSource final : private kj::TaskSet::ErrorHandler {
public:
  struct Current {
    std::uint64_t epoch;       ///< drawn at the start of this process
    std::uint64_t generation;  ///< from 1
    std::shared_ptr<const Snapshot> snapshot;
  };

  /// Sees everything before it returns; generation 0: sysfs could not be listed. What is read is
  /// counted in `counts`.
  SnapshotSource(kj::Timer& timer, std::uint64_t epoch, Rescan rescan, ScanDeps deps,
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
  /// Null: it cannot be listed, which is counted and logged.
  kj::Maybe<Places> listed(kj::Function<Places()>& places);
  void beginSweep();
  /// Rereads the next part of a sweep, and ends it after the last.
  void goOn(Sweep& sweep);
  void endSweep(kj::Duration spent);
  void beginGlance();
  /// At the next part of the devices.
  void glance();
  void reread(const Places& where);
  void publish();
  void taskFailed(kj::Exception&& exception) override;

  kj::Timer& timer_;
  std::uint64_t epoch_;
  kj::Duration betweenGlances_;
  ScanDeps deps_;
  RereadPace rereadPace_;
  SweepPace sweepPace_;
  Places hinted_;
  kj::Maybe<Sweep> sweep_;
  kj::TimePoint glanceDue_;
  std::vector<Bdf> toGlanceAt_;
  Snapshot seen_;  ///< what was read; snapshot_ is a copy
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  DiscoveryCounts& counts_;
  Broadcast broadcast_;
  Broadcast sooner_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
