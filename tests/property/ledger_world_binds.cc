// Groups that are bound when they are allocated, and go back: what privd and the hardware do.

#include <algorithm>

#include "tests/property/ledger_world.h"

namespace vfiogate::test {

void LedgerWorld::putOnHost(IommuGroupId group) {
  for (const Bdf& member : hardware_.snapshot().groups.at(group).members) {
    PciDevice& device = hardware_.device(member.str());
    onVfio_.insert_or_assign(member, device);
    device.driver = "nvidia";
    device.vfioDev.reset();
    device.cdevNode = false;
  }
}

bool LedgerWorld::isOnHost(IommuGroupId group) const {
  if (hardware_.snapshot().groups.at(group).members.empty()) return false;  // a mediated device
  const Bdf& member = hardware_.snapshot().groups.at(group).members.front();
  return !offersVfio(hardware_.snapshot().devices.at(member));
}

/// As privd's record has it.
void LedgerWorld::tellBinding() {
  for (auto& [id, group] : hardware_.snapshot().groups) {
    const auto runs = [&group = id](const DriverChange& change) { return change.group == group; };
    group.binding.busy = std::ranges::any_of(changes_, runs);
    group.binding.bindable = isOnHost(id) && !group.binding.busy;
  }
}

/// A change comes to its end, or fails; before it is told, the hardware is seen.
void LedgerWorld::endChange(unsigned pick) {
  if (changes_.empty() || !privd_) return;
  const DriverChange change = changes_.front();
  changes_.pop_front();
  const bool fails = pick % 5 == 0 || !applyChange(change);
  see();
  const BindOutcome outcome{fails ? BindOutcome::Answer::kFailed : BindOutcome::Answer::kDone, {}};
  run(change.bind ? ledger_.bindEnded(change.group, outcome, now_)
                  : ledger_.returnEnded(change.group, outcome, now_));
}

/// False: privd's guards forbid it.
bool LedgerWorld::applyChange(const DriverChange& change) {
  IommuGroup& group = hardware_.snapshot().groups.at(change.group);
  if (change.bind && isOnHost(change.group)) {
    for (const Bdf& member : group.members) hardware_.device(member.str()) = onVfio_.at(member);
    group.binding.boundForAllocation = true;
  }
  if (!change.bind && group.binding.boundForAllocation) {
    if (openInGroupOf(group.members.front())) return false;
    putOnHost(change.group);
    group.binding.boundForAllocation = false;
  }
  return true;
}

/// Nobody hears how those ended that run.
void LedgerWorld::cutChanges(unsigned pick) {
  for (const DriverChange& change : changes_) {
    if (pick % 2 == 0) applyChange(change);
  }
  changes_.clear();
}

/// Going back: nobody has it open, and only what was bound for an allocation goes.
void LedgerWorld::checkReturn(IommuGroupId group) {
  const IommuGroup& returned = hardware_.snapshot().groups.at(group);
  if (openInGroupOf(returned.members.front())) fail("I1: an open group goes back");
  if (!returned.binding.boundForAllocation)
    fail("I7: what was not bound for an allocation goes back");
}

}  // namespace vfiogate::test
