#pragma once
// Keeps privd told of the groups that are allocated or being allocated.

#include "plugind/core/recorded_allocations.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>

#include <string>

namespace vfiogate {

/// The loop's thread only.
class AllocatedGroups {
public:
  /// Borrows `privd`.
  explicit AllocatedGroups(GroupAllocations& privd) : privd_(privd) {}

  /// Replaces the groups by these, each with its note. Goes out at once, before whatever is
  /// asked of privd next.
  void set(const GroupNotes& groups);

  /// Adds one group.
  void add(IommuGroupId group, const std::string& note);

  /// All that is allocated is known: privd drops what the plugind before us held, now and whenever
  /// it comes back.
  void adopted();

  /// privd knows nothing of us any more; set() follows as soon as it is back.
  void privdWent();

private:
  void tellAdopted();
  void tell(kj::Promise<Told> telling);

  GroupAllocations& privd_;
  GroupNotes told_;
  bool adopted_ = false;
  bool adoptedTold_ = false;
  unsigned ends_ = 0;                          ///< of privd, so far
  kj::Promise<void> telling_ = kj::READY_NOW;  ///< done as soon as privd answered all of it
};

}  // namespace vfiogate
