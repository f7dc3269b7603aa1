#pragma once
// Keeps privd told of the groups that are allocated or being allocated.

#include "plugind/core/recorded_allocations.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>

#include <string>

namespace vfiogate {

/// The loop's thread only.
class HeldGroups {
public:
  /// Borrows `privd`.
  explicit HeldGroups(GroupHolds& privd) : privd_(privd) {}

  /// From now on these and no others, each with its note. Goes out at once, before whatever is
  /// asked of privd next.
  void hold(const GroupNotes& groups);

  /// This one besides.
  void holdAlso(IommuGroupId group, const std::string& note);

  /// All that is allocated is known: privd drops what the plugind before us held, now and whenever
  /// it comes back.
  void adopted();

  /// privd knows nothing of us any more; hold() follows as soon as it is back.
  void privdWent();

private:
  void tellAdopted();
  void tell(kj::Promise<Told> telling);

  GroupHolds& privd_;
  GroupNotes told_;
  bool adopted_ = false;
  bool adoptedTold_ = false;
  unsigned ends_ = 0;                          ///< of privd, so far
  kj::Promise<void> telling_ = kj::READY_NOW;  ///< done as soon as privd answered all of it
};

}  // namespace vfiogate
