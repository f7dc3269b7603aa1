#pragma once
// The hardware as the binder sees it, with what it knows of each group.

#include "privd/base/broadcast.h"
#include "privd/scan/pci_scan.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>
#include <set>

namespace vfiogate {

/// Reads all of sysfs when it is woken and on a timer, and what somebody changed at once. A scan
/// that finds what was there makes no generation. At most a tenth of the time is spent on scans,
/// but for those of the timer, and 100 ms lie between two.
class HostView {
public:
  struct Deps {
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    kj::Timer& timer;
    kj::Duration rescan;  ///< the longest time between two scans
    /// What is known of a group, asked whenever it was read.
    kj::Function<GroupBinding(const Snapshot&, const IommuGroup&)> binding;
  };
  struct Current {
    std::uint64_t generation;  ///< from 1
    std::shared_ptr<const Snapshot> snapshot;
  };

  /// Sees everything before it returns; generation 0: sysfs could not be listed.
  explicit HostView(Deps deps);
  KJ_DISALLOW_COPY(HostView);

  /// As of the last scan or reread that succeeded.
  Current current() const { return {generation_, snapshot_}; }
  /// Resolves with what is current as soon as its generation is above `seen`.
  kj::Promise<Current> next(std::uint64_t seen);

  /// Something may have changed anywhere.
  void wake();
  /// Rereads these groups, with the members that each had, before it returns.
  void rereadNow(const std::set<IommuGroupId>& groups);

private:
  kj::Promise<void> run();
  void scanAll();
  void rereadGroups(const std::set<IommuGroupId>& groups);
  void readBinding(Snapshot& seen, const IommuGroupId& group);
  void publish(Snapshot seen);

  Deps deps_;
  const SysfsWriting writing_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  Broadcast changed_;
  Broadcast woken_;
  bool due_ = false;
  kj::Promise<void> task_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
