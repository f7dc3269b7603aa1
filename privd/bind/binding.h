#pragma once
// All of binding, put together: for the daemon, and for a command.

#include "privd/base/name_watch.h"
#include "privd/bind/allocations.h"
#include "privd/bind/binder.h"
#include "privd/bind/binding_deps.h"
#include "privd/bind/declared.h"
#include "privd/gate/plugind_lease.h"
#include "privd/state/allocation_files.h"
#include "privd/writer/writer.h"

#include <kj/async-unix.h>
#include <kj/timer.h>

namespace vfiogate {

class Binding {
public:
  struct Place {
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    AllocationFiles& allocations;  ///< plugind's
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

  /// Says what an earlier privd left behind. From now on `view` rereads where something was
  /// changed, be it that `holds` tells of an exclusion, and what is declared is bound or made.
  void serve(HostView& view, std::vector<Selector> declared, std::vector<WantedVfs> vfs,
             NameWatch& holds);
  /// To be called before that `view` goes: nothing is read of it any more.
  void leave();

  /// For an operator's command.
  Binder& binder() { return binder_; }
  /// Of former drivers, exclusions and declarations.
  StateDirectory& state() { return deps_.state; }
  /// Null: it cannot be written here.
  AuditLog* audit() { return auditOf(deps_); }
  Writer& writer() { return writer_; }
  AllocationBinder& allocations() { return allocations_; }

  /// Tells the audit log's head, or why there is none, for as long as the promise is held.
  kj::Promise<void> tellHeads();

  /// Resolves as soon as no change runs.
  kj::Promise<void> idle() { return binder_.idle(); }

private:
  void assessFor(const Snapshot& snapshot, const IommuGroup& group, GroupBinding& binding);
  void tellBar(IommuGroupId group, const std::string& bar);
  void tellLeftovers(const Snapshot& snapshot) const;
  void tellExclusions();
  static AuditLog* auditOf(BindingDeps& parts);
  void lateEnd(kj::StringPtr name, const WriteOutcome& outcome);
  void changed(const std::set<IommuGroupId>& groups);
  kj::Promise<void> watchHolds(NameWatch& holds, std::uint64_t seen);
  kj::Promise<void> rereadBusy();

  const Place place_;
  BindingDeps deps_;
  kj::Maybe<HostView&> view_;
  Writer writer_;
  Binder binder_;
  Allocations allocations_;
  kj::Maybe<Declared> declared_;
  std::map<IommuGroupId, std::string> toldBars_;  ///< the guard of each that is not bindable
  std::set<IommuGroupId> busyElsewhere_;          ///< their locks could not be had
  std::vector<Exclusion> toldExclusions_;
  kj::Promise<void> tasks_ = nullptr;  // last: they use all of the above
};

}  // namespace vfiogate
