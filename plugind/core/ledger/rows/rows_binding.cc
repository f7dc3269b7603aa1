// Binds for calls, and rows 47 and 49 of what goes back to its host driver.

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

JournalEvent bindingEvent(const Turn& turn, const std::string& event,
                          const std::set<UnitId>& members, const BindOutcome& outcome) {
  JournalEvent made{.event = event, .time = turn.now.seconds()};
  made.group = groupNumber(turn.state, members);
  made.members = members;
  made.reason = outcome.done() ? event : std::string(nameOf(outcome.answer));
  made.text = outcome.why;
  return made;
}

/// Row 18. privd's other words may name what is of this host: they are for whoever reads the
/// journal.
Refusal refuseUnbound(const LedgerState& state, const RefusedDevice& device,
                      const BindOutcome& outcome) {
  const auto bar = outcome.answer == BindOutcome::Answer::kRefused ? guardThatRefused(outcome.why)
                                                                   : std::nullopt;
  if (bar) return refuseBarred(device, *bar);
  const bool full = state.settings.refusalDetail == RefusalDetail::kFull && !outcome.why.empty();
  return refuse(device, full ? "could not be bound: " + outcome.why : "could not be bound",
                "bind-failed:" + std::string(nameOf(outcome.answer)));
}

/// What a failed bind says to a call that waits for it. Null: it does not.
std::optional<RefusedDevice> waitingFor(const Call& call, IommuGroupId group) {
  const auto take = call.groups.find(group);
  if (take != call.groups.end() && take->second.binding && !take->second.bound) {
    return RefusedDevice{*take->second.ids.begin(), group};
  }
  if (call.stage != CallStage::kWaitsBind) return std::nullopt;
  const auto started = call.bindsAsked.find(group);
  if (started == call.bindsAsked.end()) return std::nullopt;
  return RefusedDevice{started->second, group};
}

bool endReturnOf(Turn& turn, const std::set<UnitId>& members) {
  return std::erase_if(turn.state.marks, [&members](const GroupMark& mark) {
           return mark.holding == Holding::kReturning && meet(mark.members, members);
         }) > 0;
}

}  // namespace

void beginBind(Turn& turn, Call& call, IommuGroupId group) {
  Take& take = call.groups.at(group);
  if (!take.bind || take.binding || take.reading->answer != GroupReading::Answer::kSeen) return;
  if (refuseOther(rereadOf(turn.state.hardware, take.reading->seen), take.offered, "offered"))
    return;
  // privd would refuse it, and the group would rest: but it is only being changed by somebody.
  if (!take.reading->onFile) return;
  take.reading.reset();
  take.binding = true;
  turn.out.binds.push_back(group);
}

void endBind(Turn& turn, IommuGroupId group, const BindOutcome& outcome) {
  LedgerState& state = turn.state;
  state.hardware.binding.erase(group);
  if (outcome.done()) state.hardware.boundForAllocation.insert(group);
  turn.out.journal.push_back(bindingEvent(turn, outcome.done() ? "bound" : "bind-failed",
                                          unitsOf(state.hardware.snapshot, group), outcome));
  if (!outcome.done()) restUnbound(turn, unitsOf(state.hardware.snapshot, group));
  std::map<CallId, RefusedDevice> waiting;
  for (const auto& [id, call] : state.calls) {
    if (const auto device = waitingFor(call, group)) waiting.emplace(id, *device);
  }
  for (const auto& [id, device] : waiting) {
    const auto found = state.calls.find(id);
    if (found == state.calls.end()) continue;
    if (!outcome.done()) {
      refuseCall(turn, id, refuseUnbound(state, device, outcome));
    } else if (found->second.stage == CallStage::kTaking) {
      found->second.groups.at(group).bound = true;
      turn.out.questions.push_back({group, id, false});
    }
  }
  for (const CallId id : callsAt(state, CallStage::kWaitsBind)) judgeAnew(turn, id);
}

void endReturn(Turn& turn, IommuGroupId group, const BindOutcome& outcome) {  // row 47
  if (outcome.done()) turn.state.hardware.boundForAllocation.erase(group);
  const std::set<UnitId> members = unitsOf(turn.state.hardware.snapshot, group);
  if (!endReturnOf(turn, members)) return;
  turn.out.journal.push_back(
      bindingEvent(turn, outcome.done() ? "returned" : "return-failed", members, outcome));
}

void resumeReturns(Turn& turn) {
  LedgerState& state = turn.state;
  const auto marks = state.marks;
  for (const GroupMark& mark : marks) {
    if (mark.holding != Holding::kReturning) continue;
    const auto group = groupNumber(state, mark.members);
    if (group && state.hardware.boundForAllocation.contains(*group)) {
      turn.out.returns.push_back(*group);
      continue;
    }
    endReturnOf(turn, mark.members);
    turn.out.journal.push_back(bindingEvent(turn, "returned", mark.members, {}));
  }
}

}  // namespace vfiogate
