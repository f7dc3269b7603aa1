#include "plugind/core/ledger/rows/look_plan.h"

#include <algorithm>

#include "plugind/core/ledger/rows/rows.h"

namespace vfiogate {
namespace {

using Due = std::optional<Instant>;

Due earlier(Due left, Due right) {
  if (!left || !right) return left ? left : right;
  return std::min(*left, *right);
}

/// When `due` is past because of a look that ended since, the next one is `every` later.
Due nextAfter(const LookPlan& plan, Instant due, std::chrono::seconds every) {
  if (!plan.lastBegan || *plan.lastBegan < due) return due;
  return *plan.lastBegan + every;
}

/// What the state of one record asks for.
Due dueFor(const LedgerState& state, const HolderRecord& record) {
  if (record.isClaim() || record.state == HolderState::kLingering) return std::nullopt;
  const LookPlan& plan = state.look;
  Due due;
  const bool unnamed = record.state == HolderState::kAnswered;
  if (unnamed) {
    const Instant never = record.since + timing::kNeverNamed;
    due = nextAfter(plan, record.since + timing::kNamingLook, timing::kUnlistedLook);
    const bool looked = plan.lastBegan && *plan.lastBegan >= never;
    due = earlier(due, looked ? Due() : Due(never));
  }
  const Evidence& evidence = record.evidence;
  const bool halfAbsent =
      evidence.absentFirst && !isReleased(state, record) && !isForgotten(state, record);
  if (halfAbsent || !record.rest.empty()) {
    due = earlier(due, plan.lastBegan.value_or(state.epochSince) + timing::kLookInterval);
  }
  // Not "never listed": a starting kubelet lists nobody, and a pod may end before it lists again.
  const bool watched = !evidence.listedLast || record.state == HolderState::kForgotten;
  if (watched) {
    due = earlier(due, plan.lastBegan.value_or(record.since) + timing::kUnlistedLook);
  }
  return due;
}

void begin(Turn& turn) {
  LookPlan& plan = turn.state.look;
  plan.running = true;
  plan.forCall = false;
  plan.wanted.reset();
  plan.lastBegan = turn.now.instant;
  plan.beganAfterFrame =
      turn.state.firstFrame && turn.now.instant - *turn.state.firstFrame >= timing::kAdoptionWait;
  turn.out.beginLook = true;
  for (auto& [id, call] : turn.state.calls) {
    if (call.stage == CallStage::kWaitsLook) call.lookAsked = true;
  }
}

/// Judges the calls that waited for a look, and the Prepares that waited for adoption.
void judgeAdopted(Turn& turn, std::vector<CallId> waiting) {
  for (auto& [id, call] : turn.state.calls) {
    const bool prepared = call.stage == CallStage::kWaitsLook && call.kind == CallKind::kPrepare;
    if (prepared && turn.state.adopted && std::ranges::find(waiting, id) == waiting.end()) {
      waiting.push_back(id);
    }
  }
  for (const CallId id : waiting) {
    // A Prepare that is not adopted yet waits on; an earlier one of these may have ended it.
    if (turn.state.calls.contains(id)) judgeCall(turn, id);
  }
}

}  // namespace

void wantLook(Turn& turn) {
  if (!turn.state.settings.remembers || turn.state.look.wanted) return;
  turn.state.look.wanted = turn.now.instant;
}

void lookInCall(Turn& turn, Call& call) {
  if (!turn.state.settings.remembers || call.lookAsked) return;
  if (turn.state.look.running) {
    turn.state.look.forCall = true;
    return;
  }
  begin(turn);
}

std::optional<Instant> lookDue(const LedgerState& state) {
  if (!state.settings.remembers || !state.begun || state.look.running) return std::nullopt;
  Due due = state.look.wanted;
  if (!state.adopted && state.firstFrame) {
    due = earlier(due, nextAfter(state.look, *state.firstFrame + timing::kAdoptionWait,
                                 timing::kLookInterval));
  }
  for (const HolderRecord& record : state.records) due = earlier(due, dueFor(state, record));
  if (!due || !state.look.lastBegan) return due;
  return std::max(*due, *state.look.lastBegan + timing::kLookInterval);
}

std::optional<Instant> lookDueFor(const LedgerState& state, const HolderRecord& record) {
  if (!state.settings.remembers || state.look.running) return std::nullopt;
  const Due due = dueFor(state, record);
  if (!due || !state.look.lastBegan) return due;
  return std::max(*due, *state.look.lastBegan + timing::kLookInterval);
}

std::optional<Instant> listDue(const LedgerState& state) {
  if (!state.settings.remembers || !state.begun || state.look.running) return std::nullopt;
  std::optional<std::chrono::seconds> interval;
  for (const HolderRecord& record : state.records) {
    if (record.isClaim()) continue;
    // List alone has a pod's name, and has it from its admission on.
    const bool nameless = record.state == HolderState::kAllocated && !record.podName &&
                          record.evidence.epochNamed == state.epoch &&
                          state.lastEvent - record.stateSince < timing::kNameSought;
    const auto wanted = nameless ? timing::kNameInterval : timing::kListInterval;
    interval = std::min(interval.value_or(wanted), wanted);
  }
  if (!interval) return std::nullopt;
  return state.look.lastList.value_or(state.epochSince) + *interval;
}

void adopt(Turn& turn) {
  if (turn.state.adopted) return;
  turn.state.adopted = true;
  turn.out.dropOtherHolds = true;
  JournalEvent event{.event = "ledger-adopted", .time = turn.now.seconds()};
  event.reason = "adopted";
  turn.out.journal.push_back(std::move(event));
}

namespace {

/// The kubelet may have been answered for a device of ours, by whatever plugin.
bool knownToTheKubelet(const LedgerState& state) {
  if (!state.version) return !state.noCheckpoint;
  return std::ranges::any_of(state.version->registered, [&state](const auto& resource) {
    return std::ranges::any_of(resource.second, [&state](const std::string& id) {
      const auto address = Bdf::parse(id);
      return address && state.hardware.snapshot.devices.contains(*address);
    });
  });
}

}  // namespace

void adoptWithoutFrames(Turn& turn) {
  const LedgerState& state = turn.state;
  if (!state.begun || state.adopted || !state.shown.empty()) return;
  const bool waited = turn.now.instant - *state.firstFrame >= timing::kAdoptionWait;
  if (!waited && knownToTheKubelet(state)) return;
  adopt(turn);
  judgeAdopted(turn, {});
}

void adoptByRecord(Turn& turn, const RecordedAllocations& recorded) {
  if (!turn.state.begun || turn.state.adopted) return;
  if (!recorded.complete && knownToTheKubelet(turn.state)) return;
  adopt(turn);
  judgeAdopted(turn, {});
}

void beginDueLook(Turn& turn) {
  const auto look = lookDue(turn.state);
  if (look && *look <= turn.now.instant) return begin(turn);
  const auto list = listDue(turn.state);
  if (!list || *list > turn.now.instant) return;
  turn.state.look.lastList = turn.now.instant;
  turn.out.askList = true;
}

void endLook(Turn& turn, bool proved) {
  LookPlan& plan = turn.state.look;
  plan.running = false;
  plan.lastEnded = turn.now.instant;
  const bool again = std::exchange(plan.forCall, false);
  std::vector<CallId> waiting;
  for (auto& [id, call] : turn.state.calls) {
    if (call.stage != CallStage::kWaitsLook || !call.lookAsked) continue;
    call.lookMade = true;
    // Step 2 of adoption: admission is serial, so what was answered before is recorded by now. A
    // Prepare proves no such thing.
    const bool step2 = call.kind == CallKind::kAllocate || plan.beganAfterFrame;
    if (proved && step2) adopt(turn);
    waiting.push_back(id);
  }
  if (proved && plan.beganAfterFrame) adopt(turn);
  judgeAdopted(turn, std::move(waiting));
  if (again) begin(turn);
}

}  // namespace vfiogate
