#pragma once
// All of binding, put together: for the daemon, and for the command line where none runs.

#include "privd/bind/allocations.h"
#include "privd/bind/binder.h"
#include "privd/bind/binding_deps.h"
#include "privd/bind/declared.h"
#include "privd/bind/operators.h"
#include "privd/gate/plugind_lease.h"
#include "privd/state/allocation_records.h"
#include "privd/writer/writer.h"

#include <kj/async-unix.h>
#include <kj/timer.h>

namespace vfiogate {

class Binding {
public:
  struct Place {
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    AllocationRecords& allocations;  ///< plugind's
    const PlugindLease& lease;
    kj::UnixEventPort& port;
    kj::Timer& timer;
    std::uint32_t plugindUid;
    bool allocates;  ///< plugind may have groups bound
  };

  /// Borrows the place.
  Binding(const Place& place, BindingDeps parts, const BindingOptions& options, ForkServer server);
  KJ_DISALLOW_COPY(Binding);

  /// What privd knows of a group, for snapshots.
  GroupBinding bindingOf(const Snapshot& snapshot, const IommuGroup& group);

  /// Says what an earlier privd left behind. From now on `source` rereads where something was
  /// changed, and what is declared is bound.
  void serve(SnapshotSource& source, std::vector<Selector> declared);

  BindingService& operators() { return operators_; }
  AllocationBinder& allocations() { return allocations_; }

  /// Tells the audit log's head, or why there is none, for as long as the promise is held.
  kj::Promise<void> tellHeads();

  /// Resolves as soon as no change runs.
  kj::Promise<void> idle() { return binder_.idle(); }

private:
  void tellBar(IommuGroupId group, const std::string& bar);
  void tellLeftovers(const Snapshot& snapshot) const;
  static AuditLog* auditOf(BindingDeps& parts);
  void lateEnd(kj::StringPtr name);
  void changed(const std::set<IommuGroupId>& groups);

  const Place place_;
  BindingDeps deps_;
  kj::Maybe<SnapshotSource&> source_;
  Writer writer_;
  Binder binder_;
  Operators operators_;
  Allocations allocations_;
  kj::Maybe<Declared> declared_;
  std::map<IommuGroupId, std::string> toldBars_;  ///< the guard of each that is not bindable
};

}  // namespace vfiogate
