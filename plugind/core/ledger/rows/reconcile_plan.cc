#include "plugind/core/ledger/rows/reconcile_plan.h"

#include <algorithm>

#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/foreign_ids.h"

namespace vfiogate {
namespace {

using Due = std::optional<Instant>;

Due earlier(Due left, Due right) {
  if (!left || !right) return left ? left : right;
  return std::min(*left, *right);
}

/// When `due` is past because of a reconcile that ended since, the next one is `every` later.
Due nextAfter(const ReconcilePlan& plan, Instant due, std::chrono::seconds every) {
  if (!plan.lastBegan || *plan.lastBegan < due) return due;
  return *plan.lastBegan + every;
}

/// What the state of one record asks for.
Due dueFor(const LedgerState& state, const HolderRecord& record) {
  if (record.isClaim() || record.state == HolderState::kLingering) return std::nullopt;
  const ReconcilePlan& plan = state.reconcile;
  Due due;
  const bool unnamed = record.state == HolderState::kAnswered;
  if (unnamed) {
    const Instant never = record.since + timing::kNeverNamed;
    due = nextAfter(plan, record.since + timing::kNamingReconcile, timing::kUnlistedReconcile);
    const bool reconciled = plan.lastBegan && *plan.lastBegan >= never;
    due = earlier(due, reconciled ? Due() : Due(never));
  }
  const Evidence& evidence = record.evidence;
  const bool halfAbsent =
      evidence.absentFirst && !isReleased(state, record) && !isForgotten(state, record);
  if (halfAbsent || !record.rest.empty()) {
    due = earlier(due, plan.lastBegan.value_or(state.epochSince) + timing::kReconcileInterval);
  }
  // Not "never listed": a starting kubelet lists nobody, and a pod may end before it lists again.
  const bool watched = !evidence.listedLast || record.state == HolderState::kForgotten;
  if (watched) {
    due = earlier(due, plan.lastBegan.value_or(record.since) + timing::kUnlistedReconcile);
  }
  return due;
}

/// When a List first tells something about a forgotten holder's pod (readPod in reconcile.cc).
Due tellingList(const LedgerState& state, const HolderRecord& record) {
  if (record.state != HolderState::kForgotten || !record.podName) return std::nullopt;
  const auto& since = record.evidence.unlistedSince;
  return since ? *since + timing::kLetGoGap : state.epochSince + timing::kListSettles;
}

void begin(Turn& turn) {
  ReconcilePlan& plan = turn.state.reconcile;
  plan.running = true;
  plan.forCall = false;
  plan.wanted.reset();
  plan.lastBegan = turn.now.instant;
  plan.beganAfterFrame =
      turn.state.firstFrame && turn.now.instant - *turn.state.firstFrame >= timing::kAdoptionWait;
  turn.out.beginReconcile = true;
  for (auto& [id, call] : turn.state.calls) {
    if (call.stage == CallStage::kWaitsReconcile) call.reconcileAsked = true;
  }
}

/// Judges the calls that waited for a reconcile, and the Prepares that waited for adoption.
void judgeAdopted(Turn& turn, std::vector<CallId> waiting) {
  for (auto& [id, call] : turn.state.calls) {
    const bool prepared =
        call.stage == CallStage::kWaitsReconcile && call.kind == CallKind::kPrepare;
    if (prepared && turn.state.adopted && std::ranges::find(waiting, id) == waiting.end()) {
      waiting.push_back(id);
    }
  }
  for (const CallId id : waiting) {
    // A Prepare that is not adopted yet waits on; an earlier one of these may have ended it.
    judgeAnew(turn, id);
  }
}

/// The kubelet may have been answered for a device of ours, by whatever plugin.
bool knownToTheKubelet(const LedgerState& state) {
  if (!state.version) return !state.noCheckpoint;
  return std::ranges::any_of(state.version->registered, [&state](const auto& resource) {
    return std::ranges::any_of(resource.second, [&](const std::string& id) {
      return mayNameOurs(state, resource.first, id);
    });
  });
}

}  // namespace

void wantReconcile(Turn& turn) {
  if (!turn.state.settings.remembers || turn.state.reconcile.wanted) return;
  turn.state.reconcile.wanted = turn.now.instant;
}

void reconcileInCall(Turn& turn, Call& call) {
  if (!turn.state.settings.remembers || call.reconcileAsked) return;
  if (turn.state.reconcile.running) {
    turn.state.reconcile.forCall = true;
    return;
  }
  begin(turn);
}

std::optional<Instant> reconcileDue(const LedgerState& state) {
  if (!state.settings.remembers || !state.begun || state.reconcile.running) return std::nullopt;
  Due due = state.reconcile.wanted;
  if (!state.adopted && state.firstFrame) {
    due = earlier(due, nextAfter(state.reconcile, *state.firstFrame + timing::kAdoptionWait,
                                 timing::kReconcileInterval));
  }
  for (const HolderRecord& record : state.records) due = earlier(due, dueFor(state, record));
  if (!state.suspected.empty()) {
    due = earlier(
        due, state.reconcile.lastBegan.value_or(state.epochSince) + timing::kUnlistedReconcile);
  }
  if (!due || !state.reconcile.lastBegan) return due;
  return std::max(*due, *state.reconcile.lastBegan + timing::kReconcileInterval);
}

std::optional<Instant> reconcileDueFor(const LedgerState& state, const HolderRecord& record) {
  if (!state.settings.remembers || state.reconcile.running) return std::nullopt;
  const Due due = dueFor(state, record);
  if (!due || !state.reconcile.lastBegan) return due;
  return std::max(*due, *state.reconcile.lastBegan + timing::kReconcileInterval);
}

std::optional<Instant> listDue(const LedgerState& state) {
  if (!state.settings.remembers || !state.begun || state.reconcile.running) return std::nullopt;
  Instant last = state.reconcile.lastList.value_or(state.epochSince);
  std::optional<Instant> held;
  for (const HolderRecord& record : state.records) {
    if (!record.isClaim()) held = earlier(held, record.stateSince);
  }
  // What has just been given is in no List yet.
  if (held) last = std::max(last, *held);
  std::optional<std::chrono::milliseconds> interval;
  Due telling;
  for (const HolderRecord& record : state.records) {
    if (record.isClaim()) continue;
    const Due tells = tellingList(state, record);
    if (tells && *tells > last) telling = earlier(telling, tells);
    // List alone has a pod's name, and has it from its admission on.
    const bool nameless = record.state == HolderState::kAllocated && !record.podName &&
                          record.evidence.epochNamed == state.epoch &&
                          state.lastEvent - record.stateSince < timing::kNameSought;
    const std::chrono::milliseconds wanted =
        nameless ? timing::kNameInterval : timing::kListInterval;
    interval = std::min(interval.value_or(wanted), wanted);
  }
  if (!interval) return std::nullopt;
  return earlier(telling, last + *interval);
}

void adopt(Turn& turn) {
  if (turn.state.adopted) return;
  turn.state.adopted = true;
  turn.out.releaseOthers = true;
  JournalEvent event{.event = "ledger-adopted", .time = turn.now.seconds()};
  event.reason = "adopted";
  turn.out.journal.push_back(std::move(event));
}

void adoptWithoutFrames(Turn& turn) {
  const LedgerState& state = turn.state;
  if (!state.begun || state.adopted) return;
  const bool served = std::ranges::any_of(state.shown, [&state](const auto& shown) {
    return servedByPlugin(state.catalog, shown.first);
  });
  if (served) return;
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

void beginDueReconcile(Turn& turn) {
  const auto due = reconcileDue(turn.state);
  if (due && *due <= turn.now.instant) return begin(turn);
  const auto list = listDue(turn.state);
  if (!list || *list > turn.now.instant) return;
  turn.state.reconcile.lastList = turn.now.instant;
  turn.out.askList = true;
}

void endReconcile(Turn& turn, bool proved) {
  ReconcilePlan& plan = turn.state.reconcile;
  plan.running = false;
  plan.lastEnded = turn.now.instant;
  const bool again = std::exchange(plan.forCall, false);
  std::vector<CallId> waiting;
  for (auto& [id, call] : turn.state.calls) {
    if (call.stage != CallStage::kWaitsReconcile || !call.reconcileAsked) continue;
    call.reconcileMade = true;
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
