#pragma once
// Has the cards asked whose serial numbers somebody selects by.

#include "plugind/base/alarm.h"
#include "plugind/core/resource/resource_catalog.h"
#include "plugind/core/resource/serial_numbers.h"
#include "plugind/privd/link/privd_link.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

namespace vfiogate {

/// Decides nothing: what SerialNumbers says is asked of the binder. The loop's thread only.
class SerialKeeper final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `privd` and `timer`. `changed` is told when something is known otherwise than before,
  /// never from within another call.
  SerialKeeper(PrivdLink& privd, kj::Timer& timer, kj::Function<void()> changed);
  KJ_DISALLOW_COPY(SerialKeeper);

  /// What is known now.
  const SerialNumbers& numbers() const { return numbers_; }

  /// The hardware as it is now, before it is sorted.
  void seen(const Settings& settings, const Snapshot& hardware);
  /// As it was sorted, while privd is there.
  void sorted(const ResourceCatalog& catalog);
  void privdWent() { numbers_.forget(); }
  /// What privd's binder may is otherwise than before, or it came.
  void binderChanged();

private:
  void ask();
  void taskFailed(kj::Exception&& exception) override;

  PrivdLink& privd_;
  kj::Function<void()> changed_;
  SerialNumbers numbers_;
  Alarm alarm_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
