#include "plugind/loop/group_changes.h"

#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// The binder comes by itself, a moment before or after the others.
constexpr auto kBinderPatience = 2 * kj::SECONDS;

void tellLog(const EndedChange& change) {
  const LogEvent event = change.isBind ? LogEvent::kBindEnded : LogEvent::kReturnEnded;
  const std::string answer(nameOf(change.outcome.answer));
  if (change.outcome.done()) {
    logInfo(event, {{"group", change.group.number()}, {"outcome", answer}});
  } else {
    logWarning(
        event,
        {{"group", change.group.number()}, {"outcome", answer}, {"why", change.outcome.why}});
  }
}

}  // namespace

GroupChanges::GroupChanges(PrivdLink& privd, kj::Timer& timer,
                           kj::Function<void(EndedChange)> ended)
    : privd_(privd), timer_(timer), ended_(kj::mv(ended)), tasks_(*this) {}

void GroupChanges::rightTold(RightToBind right, bool wanted) {
  known_ = true;
  right_ = right;
  missingTold_ = false;
  late_ = nullptr;
  wantedNow(wanted);
}

void GroupChanges::wantedNow(bool wanted) {
  if (!known_ || right_ == RightToBind::kGiven || !wanted) return;
  if (std::exchange(missingTold_, true)) return;
  if (right_ == RightToBind::kNotGiven) return tellMissing();
  late_ =
      timer_.afterDelay(kBinderPatience).then([this]() { tellMissing(); }).eagerlyEvaluate(nullptr);
}

void GroupChanges::tellMissing() {
  const bool away = right_ == RightToBind::kBinderAway;
  logError(LogEvent::kBindingDenied,
           {{"why", std::string("bind: on-allocate is configured, and ") +
                        (away ? "privd-binder is away" : "privd gives no right to bind")},
            {"then", "what is not on a VFIO driver is not offered"},
            {"fix", away ? "start privd-binder" : "add bind to privd's --plugind-rights"}});
}

void GroupChanges::bind(IommuGroupId group) {
  carryOut({group, true, {}}, privd_.bind(group));
}

void GroupChanges::giveBack(IommuGroupId group) {
  carryOut({group, false, {}}, privd_.giveBack(group));
}

void GroupChanges::carryOut(EndedChange change, kj::Promise<BindOutcome> asked) {
  tasks_.add(asked.then([this, change = std::move(change)](BindOutcome outcome) mutable {
    change.outcome = std::move(outcome);
    tellLog(change);
    // The binder alone may be away: then nothing else tells that it is over.
    const bool away = change.outcome.answer == BindOutcome::Answer::kPrivdAway;
    if (!away || privd_.isThere()) ended_(std::move(change));
  }));
}

void GroupChanges::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "group_changes"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
