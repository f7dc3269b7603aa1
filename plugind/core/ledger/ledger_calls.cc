// The calls of kubelet and netd, from their arrival.

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/ledger.h"
#include "plugind/core/ledger/rows/fast_path.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"

namespace vfiogate {
namespace {

/// Row 45.
bool mustQueue(const LedgerState& state, const Call& call) {
  return call.prepare && std::ranges::any_of(state.calls, [&call](const auto& entry) {
           const auto& other = entry.second.prepare;
           return other && other->claim.uid == call.prepare->claim.uid;
         });
}

Call newCall(CallId id, CallKind kind, const AllocateRequest& request, Instant arrived,
             std::chrono::seconds deadline) {
  return {.id = id,
          .kind = kind,
          .stage = CallStage::kTaking,
          .allocate = request,
          .prepare = std::nullopt,
          .arrived = arrived,
          .deadline = arrived + deadline,
          .groups = {}};
}

/// The resource of a claim's call is not used; a name must still be there.
AllocateRequest noAllocate() {
  return {*ResourceName::parse("vfiogate.dev/claim"), {}, {}};
}

}  // namespace

Effects Ledger::arrive(Call call, const Moment& now) {
  const FastPath fastPath(state_, now.instant);
  const CallId id = call.id;
  const CallKind kind = call.kind;
  const auto judge = [&](Turn& turn) {
    const bool queued = mustQueue(state_, call);
    if (queued) call.stage = CallStage::kQueued;
    if (state_.calls.emplace(id, std::move(call)).second && !queued) judgeAnew(turn, id);
  };
  return handle(now, judge, [&](Turn& turn) {
    return kind == CallKind::kAllocate &&
           (fastPath.staysAfterTaking(turn, id) || fastPath.staysAfterRefusal(turn, id));
  });
}

Effects Ledger::allocateAsked(CallId id, const AllocateRequest& request, const Moment& now) {
  return arrive(newCall(id, CallKind::kAllocate, request, now.instant, timing::kAllocateDeadline),
                now);
}

Effects Ledger::preStartAsked(CallId id, const PreStartRequest& request, const Moment& now) {
  return arrive(newCall(id, CallKind::kPreStart, {request.resource, request.ids, {}}, now.instant,
                        timing::kPreStartDeadline),
                now);
}

Effects Ledger::prepareAsked(CallId id, const PrepareRequest& request, Instant arrived,
                             const Moment& now) {
  Call call = newCall(id, CallKind::kPrepare, noAllocate(), arrived, timing::kPrepareDeadline);
  call.prepare = request;
  return arrive(std::move(call), now);
}

Effects Ledger::unprepareAsked(CallId id, const ClaimName& claim, const Moment& now) {
  Call call =
      newCall(id, CallKind::kUnprepare, noAllocate(), now.instant, timing::kPrepareDeadline);
  call.prepare = PrepareRequest{claim, {}, {}};
  return arrive(std::move(call), now);
}

Effects Ledger::callCancelled(CallId id, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    if (!state_.calls.contains(id)) return;
    refuseCall(turn, id, {"cancelled", "the caller hung up before the answer, cancelled"});
    std::erase_if(turn.out.answers, [id](const Answer& answer) { return answer.call == id; });
  });
}

std::optional<Instant> Ledger::nextDeadline() const {
  Instant due = state_.fastUntil ? *state_.fastUntil : dueBesideCalls().value_or(Instant::max());
  for (const auto& [id, call] : state_.calls) due = std::min(due, call.deadline);
  return due == Instant::max() ? std::nullopt : std::optional(due);
}

std::optional<Instant> Ledger::dueBesideCalls() const {
  std::optional<Instant> due;
  const auto bring = [&due](std::optional<Instant> candidate) {
    if (candidate && (!due || *candidate < *due)) due = candidate;
  };
  if (state_.awaySince && !state_.allocationClosed)
    bring(*state_.awaySince + state_.settings.grace);
  bring(reconcileDue(state_));
  bring(listDue(state_));
  bring(releaseDue(state_));
  bring(framesDue(state_));
  bring(emptyDue(state_));
  bring(restDue(state_));
  return due;
}

}  // namespace vfiogate
