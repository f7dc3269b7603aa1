#pragma once
// The changes of drivers that privd was asked for.

#include "plugind/privd/privd_link.h"

#include <kj/async.h>
#include <kj/function.h>

namespace vfiogate {

struct EndedChange {
  IommuGroupId group;
  bool isBind;  ///< false: it went back
  BindOutcome outcome;
};

/// Asks, and tells how each ended. Of what privd's end cut off nothing is told: its next snapshot
/// says what came of it. The loop's thread only.
class GroupChanges final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `privd`. `ended` is told after the hardware that the change left was.
  GroupChanges(PrivdLink& privd, kj::Function<void(EndedChange)> ended);

  /// Whether privd lets us, and whether the configuration wants it: where only the latter is so,
  /// the log says that, once a connection.
  void rightTold(bool given, bool wanted);
  void wantedNow(bool wanted);
  bool mayBind() const { return mayBind_; }

  void bind(IommuGroupId group);
  void giveBack(IommuGroupId group);

private:
  void carryOut(EndedChange change, kj::Promise<BindOutcome> asked);
  void taskFailed(kj::Exception&& exception) override;

  PrivdLink& privd_;
  kj::Function<void(EndedChange)> ended_;
  bool known_ = false;  ///< a privd has said whether we may
  bool mayBind_ = false;
  bool missingTold_ = false;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
