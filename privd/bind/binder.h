#pragma once
// Changes drivers: assessed, recorded, audited, carried out, read back, undone where it fails.

#include "privd/audit/audit_log.h"
#include "privd/bind/assessment.h"
#include "privd/bind/change_run.h"
#include "privd/bind/group_turns.h"
#include "privd/bind/refusals.h"
#include "privd/gate/plugind_lease.h"
#include "privd/state/allocation_files.h"
#include "privd/writer/writer.h"

#include <kj/async.h>
#include <kj/function.h>

#include <map>
#include <set>

namespace vfiogate {

/// Who wants a change, and why.
struct ChangeRequest {
  ChangeOrder order;
  ChangeBy by = ChangeBy::kOperator;
  AuditPeer peer;
};

/// In words, why the record of a group could not be locked: errno.
std::string notLocked(int error);

/// The only way to a write into sysfs: for the daemon and for the command, which work side by side.
/// What they have in common is in files: the devices' locks with the record of allocations, the
/// state directory, the audit log.
class Binder final : private kj::TaskSet::ErrorHandler {
public:
  struct Deps {
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    AllocationFiles& allocations;
    const PlugindLease& lease;
    StateDirectory& state;
    AuditLog* audit;           ///< null: it cannot be written, so nothing is
    std::string auditTrouble;  ///< why
    Writer& writer;
    kj::Timer& timer;
    GuardSettings settings;
    HostFiles host;
    std::vector<VfioAlias> aliases;
    std::string bootId;
    /// Called after every change with the groups that may look different now.
    kj::Function<void(const std::set<IommuGroupId>&)> changed;
  };

  explicit Binder(Deps parts)
      : deps_(kj::mv(parts)), refusals_(deps_.timer, deps_.audit), tasks_(*this) {}
  KJ_DISALLOW_COPY(Binder);

  /// Never fails: what went wrong is in the report. Changes of one group run one after the other.
  /// Dropping the promise changes nothing: what was begun is brought to its end.
  kj::Promise<ChangeReport> change(ChangeRequest request);

  /// Resolves as soon as no change runs.
  kj::Promise<void> idle() { return tasks_.onEmpty(); }

  /// What keeps plugind from having the group bound now, as in GroupBinding; empty: nothing. Reads,
  /// writes nothing.
  std::string barToAllocation(const IommuGroup& group, const Snapshot& snapshot) const;

  Result<std::set<IommuGroupId>, std::string> groupsOf(const std::vector<Bdf>& addresses) const {
    return vfiogate::groupsOf(deps_.sysfs, addresses);
  }

  bool busy(const IommuGroupId& group) const { return turns_.busy(group); }
  bool stuck(const Bdf& address) const { return stuck_.contains(address); }
  /// The kernel came back from a write in this device.
  void ended(const Bdf& address) { stuck_.erase(address); }

  const GuardSettings& settings() const { return deps_.settings; }

private:
  struct Change;

  AssessmentDeps assessmentDeps() const;
  kj::Promise<ChangeReport> begin(ChangeRequest request);
  kj::Promise<ChangeReport> perform(kj::Own<Change> change);
  kj::Promise<void> lock(Change& change, unsigned tries);
  void keep(Change& change);
  Result<Done, std::string> recordFormer(Change& change, const AuditIntent& intent);
  Result<Done, std::string> record(Change& change);
  void settle(Change& change, const RunResult& result);
  void refuse(Change& change, std::string error, const std::string& reason);
  void taskFailed(kj::Exception&& exception) override;

  Deps deps_;
  GroupTurns turns_;
  Refusals refusals_;
  std::set<Bdf> stuck_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

/// The report of an order that was not even assessed.
ChangeReport refusal(std::string error);

}  // namespace vfiogate
