#pragma once
// What an order comes to, as the hardware is now: the plan, and what speaks against it.

#include "privd/bind/plan/driver_choice.h"
#include "privd/bind/plan/guards.h"
#include "privd/bind/plan/plan.h"
#include "privd/bind/read_facts.h"
#include "privd/gate/plugind_lease.h"
#include "privd/state/allocation_files.h"
#include "privd/state/state_directory.h"

#include <kj/io.h>
#include <kj/vector.h>

#include <set>
#include <string>

namespace vfiogate {

/// What an assessment reads. All borrowed.
struct AssessmentDeps {
  const SysfsRoot& sysfs;
  const DevRoot& dev;
  const AllocationFiles& allocations;  ///< plugind's
  const PlugindLease& lease;
  const StateDirectory& state;
  const GuardSettings& settings;
  const HostFiles& host;
  const std::vector<VfioAlias>& aliases;
  const std::string& bootId;
  const std::set<Bdf>& stuck;  ///< devices in whose write the kernel is
};

struct Assessment {
  Snapshot snapshot;  ///< of the groups, read now
  Overrides overrides;
  Plan plan;
  std::vector<Objection> objections;
  std::string nonsense;  ///< what makes the order impossible here, for people; empty: nothing
  /// Held until the change is over: exclusive opens of disks, and nodes of groups that leave VFIO.
  OpenDisks disks;
  kj::Vector<kj::AutoCloseFd> groupNodes;
};

/// The groups of all addresses. Error: an address that is not there, or is in no group.
Result<std::set<IommuGroupId>, std::string> groupsOf(const SysfsRoot& sysfs,
                                                     const std::vector<Bdf>& addresses);

/// Reads the groups anew and judges the order. Writes nothing.
Assessment assess(const AssessmentDeps& deps, const ChangeOrder& order, ChangeBy by,
                  const std::set<IommuGroupId>& groups);

}  // namespace vfiogate
