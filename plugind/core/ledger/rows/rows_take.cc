// Rows 1 to 13: whether a request may be tried.

#include <algorithm>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/physical_functions.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// What the rows say of one group of a request.
struct Verdict {
  enum class Kind : std::uint8_t { kTake, kReconcileFirst, kRefuse };
  Kind kind = Kind::kTake;
  std::optional<Refusal> refusal;
  bool reconcile = false;  ///< the refusal is also a reason to reconcile
};

Verdict refused(Refusal refusal, bool reconcile) {
  return {Verdict::Kind::kRefuse, std::move(refusal), reconcile};
}

std::string allocatedSince(const HolderRecord& record, const Call& asker) {
  return "allocated" + pathText(record.isClaim(), asker) + " since " + utcText(record.answeredAt);
}

/// Row 5.
Verdict judgeUnheld(const LedgerState& state, const Call& call, const Offer& offer,
                    Holding holding) {
  if (holding == Holding::kForeign) {
    return refused(refuse(offer.device(), "open, by nobody known here", "foreign"), true);
  }
  if (holding == Holding::kReturning) {
    return refused(refuse(offer.device(), "going back to its host driver", "returning"), true);
  }
  const auto holders = recordsMeeting(state, offer.members);
  const HolderRecord& holder = state.records[holders.front()];
  return refused(
      refuseHeld(state, offer.device(), allocatedSince(holder, call) + ", let go and still open",
                 "still-open", holders),
      true);
}

/// Section 5.7: the kubelet's word that the record's pod is the same, or gone.
bool isReoffer(const HolderRecord& record, const Offer& offer) {
  return !record.isClaim() && !record.byForeignIds && record.resource == offer.resource &&
         record.set == offer.set && meet(record.ids, offer.ids);
}

bool isStarting(const HolderRecord& record, Instant now) {
  return record.preStartAt && now - *record.preStartAt < timing::kSettling &&
         !record.openedSincePreStart;
}

/// A kubelet that lost its memory offers what a running pod has: only the kubelet that named a
/// holder can have let it go.
bool mayBeForgotten(const LedgerState& state, const HolderRecord& record) {
  return record.evidence.named && record.evidence.epochNamed != state.epoch;
}

/// What stands against the devices themselves, whoever asks: row 11. Of a held one whose holder
/// has ended it is to be known soon.
Verdict judgeAlone(const LedgerState& state, const Offer& offer, bool held) {
  if (const auto physical = allocatedPhysicalFunction(state, offer.members)) {
    return refused(refuse(offer.device(), physical->bar.text, physical->bar.reason, physical->refs),
                   held);
  }
  if (allocatable(offer.readiness)) return {};
  return refused(refuseBarred(offer.device(), offer.readiness.bar), held);
}

/// Rows 7 to 11 of a held group.
Verdict judgeHeld(const Turn& turn, const Call& call, const Offer& offer) {
  const auto holders = recordsMeeting(turn.state, offer.members);
  const HolderRecord& first = turn.state.records[holders.front()];
  const bool alone = holders.size() == 1 && call.kind == CallKind::kAllocate;
  if (alone && isReoffer(first, offer)) {
    if (isStarting(first, turn.now.instant)) {  // row 9
      return refused(
          refuseHeld(turn.state, offer.device(), allocatedSince(first, call) + ", its pod starts",
                     "starting", holders),
          true);
    }
    if (mayBeForgotten(turn.state, first)) {  // row 7, before
      if (!call.reconcileMade) return {Verdict::Kind::kReconcileFirst, std::nullopt, false};
      return refused(
          refuseHeld(turn.state, offer.device(),
                     allocatedSince(first, call) + ", and forgotten by the kubelet: its pod "
                                                   "may run still",
                     "forgotten", holders),
          true);
    }
    if (const auto replaced = refuseReplaced(turn.state, first, offer.ids)) {  // row 7b
      return refused(*replaced, true);
    }
    return judgeAlone(turn.state, offer, true);  // rows 7, 11
  }
  const bool row8 = alone && !first.isClaim() && first.resource == offer.resource &&
                    first.set == offer.set && meet(first.rest, offer.ids);
  if (row8 && !call.reconcileMade) return {Verdict::Kind::kReconcileFirst, std::nullopt, false};
  return refused(
      refuseHeld(turn.state, offer.device(), allocatedSince(first, call),  // rows 8, 10
                 ofOneParty(turn.state, holders) ? "group-allocated" : "disputed", holders),
      true);
}

Verdict judgeOffer(const Turn& turn, const Call& call, const Offer& offer) {
  if (const Take* take = takeMeeting(turn.state, offer.members)) {  // row 4
    return refused(refuseTaken(offer.device(), *take, call), false);
  }
  const Holding holding = holdingOf(turn.state, offer.members);
  if (isHeld(holding)) return judgeHeld(turn, call, offer);
  if (holding != Holding::kFree) return judgeUnheld(turn.state, call, offer, holding);
  if (const ResourceName* suspected = suspectedIn(turn.state, offer.members)) {
    return refused(refuse(offer.device(), suspicionText(turn.state, *suspected), "foreign-ids"),
                   true);
  }
  return judgeAlone(turn.state, offer, false);  // rows 11 to 13
}

/// Rows 7, 12, 13: all groups are taken in this step, and privd is asked.
void takeAll(Turn& turn, Call& call, const std::vector<Offer>& offers) {
  call.stage = CallStage::kTaking;
  bool binds = false;
  for (const Offer& offer : offers) {
    const bool bind = offer.readiness.readiness == Readiness::kBindable;
    binds = binds || bind;
    Take take{.resource = offer.resource,
              .allocation = offer.allocation,
              .ids = offer.ids,
              .members = offer.members,
              .since = turn.now.seconds(),
              .ref = freshRef(turn.state, turn.now.draw),
              .forClaim = call.kind == CallKind::kPrepare,
              .set = offer.set,
              .offered = fingerprintOf(
                  turn.state.hardware,
                  handedOver(turn.state.hardware, turn.state.catalog, offer.resource, offer.ids)),
              .bind = bind,
              .reading = std::nullopt};
    // A device without a group is never allocatable.
    call.groups.emplace(*offer.group, std::move(take));
    // Section 3: of those who are being taken only a held one may be probed.
    const bool again = !bind && !recordsMeeting(turn.state, offer.members).empty();
    turn.out.questions.push_back({*offer.group, call.id, again});
  }
  if (binds)
    call.deadline = std::max(call.deadline, call.arrived + turn.state.settings.bindDeadline);
}

/// Row 1. True: the call waits, or was refused.
bool lacksPrivd(Turn& turn, Call& call) {
  LedgerState& state = turn.state;
  if (state.privdThere && state.hardwareKnown) return false;
  if (call.kind == CallKind::kAllocate) {
    const bool first = call.stage == CallStage::kWaitsPrivd || !state.waitUsed;
    if (first) {
      state.waitUsed = true;
      call.deadline = std::max(call.deadline, call.arrived + state.settings.allocateWait);
    }
    if (!first || turn.now.instant >= call.deadline) {
      closeAllocation(state);
      refuseCall(turn, call.id, refusePrivdAway(call.allocate.ids));
      return true;
    }
  }
  call.stage = CallStage::kWaitsPrivd;
  return true;
}

Refusal refuseNotAdopted(const Call& call) {
  const std::string device =
      call.allocate.ids.empty() ? "the claim" : quoteForeign(call.allocate.ids.front());
  return {"not-adopted",
          device + ": not known yet what the kubelet has recorded, try again, not-adopted"};
}

/// Row 2. True: the call waits, or was refused.
bool lacksAdoption(Turn& turn, Call& call) {
  if (turn.state.adopted) return false;
  const bool failed = call.kind == CallKind::kAllocate && call.reconcileMade;
  if (failed) {
    refuseCall(turn, call.id, refuseNotAdopted(call));
    return true;
  }
  call.stage = CallStage::kWaitsReconcile;
  if (call.kind == CallKind::kAllocate) reconcileInCall(turn, call);
  return true;
}

}  // namespace

std::string pathText(bool ofClaim, const Call& asker) {
  if (ofClaim) return " through DRA";
  return asker.kind == CallKind::kPrepare ? " through the device plugin" : "";
}

Refusal refuseTaken(const RefusedDevice& device, const Take& take, const Call& asker) {
  const std::string what = take.givesBack ? "being given back" : "being allocated";
  return refuse(device, what + pathText(take.forClaim, asker) + " since " + utcText(take.since),
                "being-allocated", {take.ref.str()});
}

Refusal refuseHeld(const LedgerState& state, const RefusedDevice& device, const std::string& text,
                   const std::string& reason, const std::vector<std::size_t>& holders) {
  std::vector<std::string> refs;
  std::string pods;
  for (const std::size_t index : holders) {
    const HolderRecord& record = state.records[index];
    refs.push_back(record.ref.str());
    if (record.claim) {
      pods += ", claim " + record.claim->claimNamespace + "/" + record.claim->name + " (" +
              record.claim->uid + ")";
    } else if (record.podName || record.podUid) {
      pods += ", pod " + record.podName.value_or("unknown") + " (" +
              record.podUid.value_or("unknown") + ")";
    }
  }
  Refusal refusal = refuse(device, text, reason, refs);
  // The text ends in the status of a pod that may be somebody else's.
  if (state.settings.refusalDetail == RefusalDetail::kFull) refusal.text += pods;
  return refusal;
}

Refusal refuseBarred(const RefusedDevice& device, const Bar& bar) {
  if (bar.reason == kSpecReason) return refuse(device, bar.text, kSpecReason);
  return refuse(device, bar.text, "not-viable:" + bar.reason);
}

void judgeCall(Turn& turn, CallId id) {
  Call& call = turn.state.calls.at(id);
  if (lacksPrivd(turn, call) || lacksAdoption(turn, call)) return;
  std::vector<Offer> offers;
  if (call.kind == CallKind::kPrepare) {
    if (judgeAgain(turn, id)) return;
    auto split = offersOf(turn.state, *call.prepare);
    if (!split) return refuseCall(turn, id, split.error());
    offers = *std::move(split);
  } else {
    auto split = offersOf(turn.state, call.allocate);
    if (!split) return refuseCall(turn, id, split.error());
    offers = *std::move(split);
  }
  bool reconcileFirst = false;
  for (const Offer& offer : offers) {
    const Verdict verdict = judgeOffer(turn, call, offer);
    if (verdict.reconcile) wantReconcile(turn);
    if (verdict.refusal) return refuseCall(turn, id, *verdict.refusal);
    reconcileFirst = reconcileFirst || verdict.kind == Verdict::Kind::kReconcileFirst;
  }
  if (reconcileFirst) {
    call.stage = CallStage::kWaitsReconcile;
    return reconcileInCall(turn, call);
  }
  takeAll(turn, call, offers);
}

}  // namespace vfiogate
