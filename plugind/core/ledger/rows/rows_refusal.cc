// Row 18: how a call ends without a grant, and what its groups return to.

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/set_units.h"

namespace vfiogate {
namespace {

/// Row 18: a bind made for a call that failed is undone if the group was free before.
void undoBinds(Turn& turn, const Call& call) {
  for (const auto& [group, take] : call.groups) {
    const bool undone = take.bound && take.allocation.returnToOriginal &&
                        recordsMeeting(turn.state, take.members).empty();
    if (undone) startReturn(turn, take.members);
  }
}

RefusedDevice deviceOf(const Call& call) {
  const auto& [group, take] = *call.groups.begin();
  return {*take.ids.begin(), group};
}

/// Of a claim that was refused before any group was taken: devices that exist, as above.
void noteRefusal(Turn& turn, const PrepareRequest& request, const Refusal& refusal) {
  for (const auto& [resource, ids] : request.devices) {
    for (const UnitId& id : ids) {
      if (!isPresent(turn.state.hardware.snapshot, id)) continue;
      turn.state.refusals.insert_or_assign(id, LastRefusal{turn.now.seconds(), refusal});
    }
  }
}

/// What the deadline says to a call, by what it waited for.
void expireCall(Turn& turn, const Call& call) {
  switch (call.stage) {
    case CallStage::kWaitsPrivd:
      if (call.kind == CallKind::kAllocate) closeAllocation(turn.state);
      return refuseCall(turn, call.id,
                        call.prepare ? refuseClaimUnchecked() : refusePrivdAway(call.allocate.ids));
    case CallStage::kTaking:
      for (const auto& [group, take] : call.groups) {
        if (take.binding && !take.bound) turn.state.hardware.binding.insert(group);
      }
      return settleCall(turn, call.id);  // groups without an answer count as timed out
    case CallStage::kWaitsSpec:
      if (call.kind == CallKind::kUnprepare) break;
      return refuseCall(turn, call.id,
                        refuse(deviceOf(call), "its spec was not written in time", "cdi"));
    case CallStage::kWaitsReconcile:
    case CallStage::kQueued:
    case CallStage::kWaitsBind:
    case CallStage::kChecking:
      break;
  }
  const std::string what =
      call.allocate.ids.empty() ? "the claim" : quoteForeign(call.allocate.ids.front());
  const bool reconciles = call.stage == CallStage::kWaitsReconcile;
  const std::string reason = reconciles && !turn.state.adopted ? "not-adopted" : "timed-out";
  const std::string why =
      !reconciles ? "not decided in time"
      : turn.state.adopted
          ? "what the kubelet remembers could not be read in time"
          : "not known yet since plugind's start who has what, it is asked for again";
  refuseCall(turn, call.id, {reason, what + ": " + why + ", " + reason});
}

}  // namespace

void refuseCall(Turn& turn, CallId id, const Refusal& refusal) {
  const Call call = turn.state.calls.at(id);
  turn.state.calls.erase(id);  // every group is what its records and marks say: `before`
  undoBinds(turn, call);
  // It may be there: the next plugind would take it for a holder's.
  if (call.specAsked) turn.out.specsToUnlink.push_back(call.prepare->claim);
  for (const auto& [group, take] : call.groups) {
    for (const UnitId& device : take.ids) {
      turn.state.refusals.insert_or_assign(device, LastRefusal{turn.now.seconds(), refusal});
    }
  }
  if (call.prepare) noteRefusal(turn, *call.prepare, refusal);
  for (const std::string& text : call.allocate.ids) {
    const bool ofSet = isSetId(text);
    for (const UnitId& unit :
         ofSet ? unitsOfSet(turn.state, call.allocate.resource, text) : std::set<UnitId>()) {
      if (!isPresent(turn.state.hardware.snapshot, unit)) continue;
      turn.state.refusals.insert_or_assign(unit, LastRefusal{turn.now.seconds(), refusal});
    }
    const auto device = UnitId::parse(text);
    // Only devices that exist: ids are the kubelet's and could be anything.
    if (!device || !isPresent(turn.state.hardware.snapshot, *device)) continue;
    turn.state.refusals.insert_or_assign(*device, LastRefusal{turn.now.seconds(), refusal});
  }
  JournalEvent event{.event = "refused", .time = turn.now.seconds()};
  if (!call.prepare) event.resource = call.allocate.resource;
  event.reason = refusal.reason;
  event.text = refusal.text;
  event.foreignIds = call.allocate.ids;
  if (call.prepare) event.claim = call.prepare->claim;
  turn.out.journal.push_back(std::move(event));
  turn.out.answers.push_back({id, std::nullopt, refusal});
  if (call.prepare) startQueued(turn, call.prepare->claim);
}

void endCall(Turn& turn, CallId id) {
  const auto prepare = turn.state.calls.at(id).prepare;
  turn.state.calls.erase(id);
  turn.out.answers.push_back({id, std::nullopt, std::nullopt});
  if (prepare) startQueued(turn, prepare->claim);
}

void answerTickets(Turn& turn, CallId id) {
  const CallKind kind = turn.state.calls.at(id).kind;
  endCall(turn, id);
  if (kind == CallKind::kAllocate) turn.out.answers.back().response.emplace();
}

void expireCalls(Turn& turn) {
  std::vector<CallId> over;
  for (const auto& [id, call] : turn.state.calls) {
    if (call.deadline <= turn.now.instant) over.push_back(id);
  }
  for (const CallId id : over) {
    const auto found = turn.state.calls.find(id);
    if (found != turn.state.calls.end()) expireCall(turn, Call(found->second));
  }
}

}  // namespace vfiogate
