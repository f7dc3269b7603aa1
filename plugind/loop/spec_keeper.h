#pragma once
// Keeps privd's static CDI specs as they are wanted.

#include "ipc/base/backoff.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

namespace vfiogate {

/// Declares again when privd is back; where it could not write, after 1 s, then half as often each
/// time, up to 30 s; and each minute, which mends what somebody did to the files. The loop's thread
/// only.
class SpecKeeper final : private kj::TaskSet::ErrorHandler {
public:
  /// `settled` is called when privd has answered, or when it should be asked again: settle() then.
  SpecKeeper(SpecStore& privd, kj::Timer& timer, kj::Function<void()> settled);
  KJ_DISALLOW_COPY(SpecKeeper);

  /// True: specs() is what privd made of this plan, or there is nobody to ask. False: it is being
  /// asked. A plan without any spec is told, and not waited for.
  bool settle(const SpecPlan& plan);

  const StaticSpecs& specs() const { return specs_; }
  /// The last one that privd was asked for.
  const SpecPlan& plan() const { return plan_; }

  void privdCame() { there_ = true; }
  /// It forgot what it was asked for, and what is on disk may change.
  void privdWent();

private:
  void ask();
  void answered(SpecAnswer answer);
  void askAfter(kj::Duration pause);
  void taskFailed(kj::Exception&& exception) override;

  SpecStore& privd_;
  kj::Timer& timer_;
  kj::Function<void()> settled_;
  bool there_ = false;
  bool asking_ = false;
  bool told_ = false;  ///< privd knows plan_
  unsigned ends_ = 0;  ///< of privd, so far
  Backoff<kj::Duration> retries_;
  SpecPlan plan_;
  StaticSpecs specs_;
  kj::Promise<void> again_ = nullptr;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
