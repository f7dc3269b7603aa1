#include "plugind/group_changes.h"

#include "plugind/log_line.h"

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

GroupChanges::GroupChanges(GroupBinds& privd, kj::Function<void(EndedChange)> ended)
    : privd_(privd), ended_(kj::mv(ended)), tasks_(*this) {}

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
