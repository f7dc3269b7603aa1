#include "plugind/loop/group_changes.h"

#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

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

GroupChanges::GroupChanges(PrivdLink& privd, kj::Function<void(EndedChange)> ended)
    : privd_(privd), ended_(kj::mv(ended)), tasks_(*this) {}

void GroupChanges::rightTold(bool given, bool wanted) {
  known_ = true;
  mayBind_ = given;
  missingTold_ = false;
  wantedNow(wanted);
}

void GroupChanges::wantedNow(bool wanted) {
  if (!known_ || mayBind_ || !wanted || std::exchange(missingTold_, true)) return;
  logError(LogEvent::kBindingDenied,
           {{"why", "bind: on-allocate is configured, and privd gives no right to bind"},
            {"then", "what is not on a VFIO driver is not offered"},
            {"fix", "add bind to privd's --plugind-rights"}});
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
    if (change.outcome.answer != BindOutcome::Answer::kPrivdAway) ended_(std::move(change));
  }));
}

void GroupChanges::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "group_changes"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
