#pragma once
// What privd's binder and gate tell of the groups, over what its hardware process tells of them.

#include "ipc/binder/binder_packets.h"
#include "ipc/types/snapshot.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace vfiogate {

/// Whether groups are bound for us.
enum class RightToBind : std::uint8_t {
  kGiven,
  kNotGiven,    ///< the binder is there, and does not bind for allocations
  kBinderAway,  ///< there is no binder, or it has not said yet
};

/// Pure: told of both, it completes a snapshot of the hardware.
class BindingView {
public:
  enum class Taken : std::uint8_t {
    kWhole,    ///< it is to be shown
    kPart,     ///< the rest follows
    kTooMuch,  ///< of more groups than a node has: as if untold
  };

  /// What the binder tells, the first time all that there is, then what is another.
  Taken take(binder::Changed changed);
  /// What it told is not known any more.
  void binderWent();
  void exclude(std::set<UnitId> devices) { excluded_ = std::move(devices); }

  /// From the one to the other the group is busy, and what the binder tells of it is kept back:
  /// binder and hardware process tell of a change one after the other, and half of it is neither
  /// the group before nor the group after. As often ended as begun.
  void changeBegins(IommuGroupId group);
  void changeEnded(IommuGroupId group);

  /// As the binder told it last.
  RightToBind right() const { return right_; }

  /// Replaces the binding of every group, and sysfsWriting. What the binder told of a group is said
  /// of one with exactly the same members only.
  void complete(Snapshot& hardware) const;

private:
  /// Without what was told since its change began.
  struct Changing {
    unsigned changes = 0;
    bool wasBoundForAllocation = false;
    bool wasStuck = false;
  };

  GroupBinding bindingOf(const IommuGroup& group) const;
  GroupBinding toldOf(const IommuGroup& group) const;

  RightToBind right_ = RightToBind::kBinderAway;
  SysfsWriting writing_ = SysfsWriting::kUnknown;
  std::map<IommuGroupId, binder::GroupState> groups_;
  std::map<IommuGroupId, Changing> changing_;
  std::vector<binder::GroupState> parts_;  ///< told, and not whole yet
  std::set<UnitId> excluded_;
};

}  // namespace vfiogate
