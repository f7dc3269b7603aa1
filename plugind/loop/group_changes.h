#pragma once
// The changes of drivers that privd was asked for.

#include "plugind/privd/link/privd_link.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

namespace vfiogate {

struct EndedChange {
  IommuGroupId group;
  bool isBind;  ///< false: it went back
  BindOutcome outcome;
};

/// Asks, and tells how each ended. Of what the end of the session cut off nothing is told: the next
/// snapshot says what came of it. The loop's thread only.
class GroupChanges final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `privd` and `timer`. `ended` is told after the hardware that the change left was.
  GroupChanges(PrivdLink& privd, kj::Timer& timer, kj::Function<void(EndedChange)> ended);

  /// Whether privd lets us, and whether the configuration wants it: where only the latter is so,
  /// the log says that, once a connection; of a binder that is away when it is late.
  void rightTold(RightToBind right, bool wanted);
  void wantedNow(bool wanted);
  RightToBind right() const { return right_; }

  void bind(IommuGroupId group);
  void giveBack(IommuGroupId group);

private:
  void tellMissing();
  void carryOut(EndedChange change, kj::Promise<BindOutcome> asked);
  void taskFailed(kj::Exception&& exception) override;

  PrivdLink& privd_;
  kj::Timer& timer_;
  kj::Function<void(EndedChange)> ended_;
  bool known_ = false;  ///< a privd has said whether we may
  RightToBind right_ = RightToBind::kBinderAway;
  bool missingTold_ = false;
  kj::Promise<void> late_ = nullptr;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
