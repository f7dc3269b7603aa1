// Rows 14 to 18: how a request ends, by what privd saw.

#include <algorithm>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

GroupUse usedBy(const GroupReading& reading, IommuGroupId group) {
  return useWith(reading.seen.groups.at(group).use, reading.probe);
}

/// Rows 14 to 18 by the use of a group; `holder` null: it was free. Null: grant it.
std::optional<Refusal> refuseUsed(const LedgerState& state, const RefusedDevice& device,
                                  const GroupReading& reading, std::optional<std::size_t> holder) {
  const GroupUse use = usedBy(reading, *device.group);
  if (use == GroupUse::kIdle) return std::nullopt;
  if (use == GroupUse::kBlind && !holder) return std::nullopt;  // row 14
  // Row 15: nothing was started since the answer, so nothing can have opened it.
  const bool unstarted = holder && !state.records[*holder].preStartAt;
  if (use == GroupUse::kBlind && unstarted) return std::nullopt;
  if (use != GroupUse::kOpen) return refuseUntold(device, use, reading);
  if (!holder) return refuse(device, "open, by nobody known here", "foreign");
  const std::string since = utcText(state.records[*holder].answeredAt);
  return refuseHeld(state, device, "allocated since " + since + " and still open", "still-open",
                    {*holder});
}

bool isReoffered(const HolderRecord& record, const Take& take) {
  return !record.isClaim() && record.resource == take.resource && record.set == take.set &&
         meet(record.ids, take.ids);
}

/// Rows 3a and 11, by a configuration or news of the hardware that came while it was taken.
std::optional<Refusal> refuseLeftOut(const LedgerState& state, const Call& call,
                                     const RefusedDevice& device, const Take& take) {
  if (const auto bar = barOfLeftOut(state, take.ids, take.set)) return refuseBarred(device, *bar);
  return call.prepare ? refuseMoved(state, *call.prepare, take.ids) : std::nullopt;
}

/// Rows 14 to 18 for one group. Null: it is good.
std::optional<Refusal> judgeTake(const LedgerState& state, const Call& call, IommuGroupId group,
                                 const Take& take) {
  const RefusedDevice device{*take.ids.begin(), group};
  if (auto refusal = refuseUnseen(device, take.reading)) return refusal;
  if (!take.reading->onFile) {
    return refuse(device,
                  "privd could not record the allocation: its drivers are being changed, or as "
                  "privd's log says",
                  "not-recorded");
  }
  const auto seen = take.reading->seen.groups.find(group);
  std::set<UnitId> members = take.members;
  if (seen != take.reading->seen.groups.end()) {
    members.merge(unitsOf(seen->second));
  }
  members.merge(reachOf(state, take.members));  // by news from after the reading
  // Row 34, and row 18 "named for somebody else": who came in meanwhile may hold the group.
  const auto holders = recordsMeeting(state, members);
  const bool plugin = call.kind == CallKind::kAllocate;
  const bool again =
      plugin && holders.size() == 1 && isReoffered(state.records[holders.front()], take);
  if (!holders.empty() && !again) {
    const bool joined = recordsMeeting(state, take.members).empty();
    if (joined) {
      return refuseBarred(device, {"regrouped", "its group changed while it was being allocated"});
    }
    const bool toClaim = state.records[holders.front()].isClaim();
    return refuseHeld(state, device, "allocated meanwhile" + pathText(toClaim, call),
                      ofOneParty(state, holders) ? "group-allocated" : "disputed", holders);
  }
  const bool whole = seen != take.reading->seen.groups.end() &&
                     std::ranges::includes(unitsOf(seen->second), take.ids) &&
                     groupNumber(state, take.ids) == group;
  const bool crossed = takeMeeting(state, members, call.id) != nullptr ||
                       markMeeting(state, members, Holding::kReturning) != nullptr;
  if (!whole || crossed) {
    return refuseBarred(device, {"regrouped", "its group changed while it was being allocated"});
  }
  const HardwareFacts facts = rereadOf(state.hardware, take.reading->seen);
  if (auto other = refuseOther(facts, take.offered, "offered")) return other;
  if (auto refusal = refuseLeftOut(state, call, device, take)) return refusal;
  const auto holder = again ? std::optional(holders.front()) : std::nullopt;
  if (auto refusal = refuseUsed(state, device, *take.reading, holder)) return refusal;
  const auto handed = handedOver(facts, state.catalog, take.resource, take.ids);
  const GroupReadiness readiness =
      plugin ? judgeReadiness(facts, take.resource, handed, take.allocation)
             : judgeForClaim(facts, state.catalog, *call.prepare, take.ids);
  if (readiness.readiness == Readiness::kReady) return std::nullopt;
  return refuseBarred(device, readiness.bar);
}

/// Of all groups of a call. Null: each is good.
std::optional<Refusal> judgeTakes(const LedgerState& state, const Call& call) {
  for (const auto& [group, take] : call.groups) {
    if (auto refusal = judgeTake(state, call, group, take)) return refusal;
  }
  return std::nullopt;
}

/// Other hardware than was taken, by news from after the readings.
std::optional<Refusal> refuseSwapped(const LedgerState& state, const Call& call) {
  for (const auto& [group, take] : call.groups) {
    if (auto other = refuseOther(state.hardware, take.offered, "offered")) return other;
  }
  return std::nullopt;
}

/// Rows 16 and 17: what a group turns into that was found open.
void noteOpen(Turn& turn, IommuGroupId group, const Take& take) {
  if (!take.reading || take.reading->answer != GroupReading::Answer::kSeen) return;
  if (!take.reading->seen.groups.contains(group)) return;
  if (usedBy(*take.reading, group) != GroupUse::kOpen) return;
  const auto holders = recordsMeeting(turn.state, take.members);
  if (holders.empty()) {  // row 16
    turn.state.marks.push_back(
        {Holding::kForeign, take.members, turn.now.instant, turn.now.seconds(), std::nullopt});
    return;
  }
  if (holders.size() != 1) return;
  HolderRecord& record = turn.state.records[holders.front()];
  if (!isReoffered(record, take)) return;
  // Row 17. What another kubelet than this one named was not taken (row 7).
  record.state = HolderState::kLingering;
  record.stateSince = turn.now.instant;
  record.answeredWall = turn.now.wall;  // older versions may still name it
  wantReconcile(turn);
}

/// Rows 14 and 15: the record that a grant leaves. `allocated`: the fingerprint of all that it
/// gave.
HolderRecord recordOf(const Turn& turn, const Call& call, const Take& take,
                      const std::string& allocated) {
  HolderRecord fresh{.resource = take.resource,
                     .ids = take.ids,
                     .rest = {},
                     .members = take.members,
                     .answeredAt = take.since,
                     .ref = take.ref,
                     .state = HolderState::kAnswered,
                     .set = take.set,
                     .claim = std::nullopt};
  for (const auto& [group, seen] : take.reading->seen.groups) {
    fresh.members.merge(unitsOf(seen));
  }
  fresh.since = fresh.stateSince = turn.now.instant;
  fresh.answeredWall = turn.now.wall;
  fresh.evidence.epochNamed = turn.state.epoch;
  fresh.fingerprint = fingerprintPart(allocated, fresh.members);  // with what goes along
  if (call.kind == CallKind::kPrepare) {
    fresh.claim = call.prepare->claim;
    fresh.state = HolderState::kAllocated;
    fresh.evidence.named = true;
  }
  return fresh;
}

HolderRecord withoutBefore(HolderRecord record) {
  record.before.clear();
  return record;
}

/// For the annotation that the kubelet records.
std::string refsOf(const Call& call) {
  std::string refs;
  for (const auto& [group, take] : call.groups) refs += (refs.empty() ? "" : ",") + take.ref.str();
  return refs;
}

/// Returns true for a re-offer.
bool keep(Turn& turn, HolderRecord fresh) {
  auto& records = turn.state.records;
  const auto replaced = std::ranges::find_if(records, [&fresh](const HolderRecord& record) {
    return !fresh.isClaim() && !record.isClaim() && record.resource == fresh.resource &&
           record.set == fresh.set && meet(record.ids, fresh.ids);
  });
  const bool again = replaced != records.end();
  if (again) {
    fresh.keepRestOf(*replaced);
    fresh.before = replaced->evidence.named ? std::vector{withoutBefore(*replaced)}
                                            : std::move(replaced->before);
    if (!fresh.rest.empty()) wantReconcile(turn);
  }
  turn.out.journal.push_back(journalEvent(turn, fresh, again ? "allocated-again" : "allocated"));
  if (again) {
    *replaced = std::move(fresh);
  } else {
    records.push_back(std::move(fresh));
  }
  return again;
}

}  // namespace

void settleCall(Turn& turn, CallId id) {
  Call& call = turn.state.calls.at(id);
  if (call.kind == CallKind::kUnprepare) return settleUnprepare(turn, id);
  if (const auto refusal = judgeTakes(turn.state, call)) {
    // Refused first: while it is in `taking`, its own groups would not meet their records.
    const auto groups = call.groups;
    refuseCall(turn, id, *refusal);
    for (const auto& [group, take] : groups) noteOpen(turn, group, take);
    return;
  }
  if (call.kind ==
      CallKind::kPrepare) {  // 5.5: the spec is durable before the groups are allocated
    call.stage = CallStage::kWaitsSpec;
    call.specAsked = true;
    turn.out.specsToWrite.push_back(call.id);
    return;
  }
  grantCall(turn, id);
}

void endWriting(Turn& turn, CallId id, bool written) {
  const Call& call = turn.state.calls.at(id);
  if (!written) {
    return refuseCall(turn, id, {"cdi", "the claim: its spec could not be written, cdi"});
  }
  // Row 18 again: it took a while.
  if (!call.again) {
    auto refusal = judgeTakes(turn.state, call);
    if (!refusal) refusal = refuseSwapped(turn.state, call);
    if (refusal) return refuseCall(turn, id, *refusal);
  }
  grantCall(turn, id);
}

void grantCall(Turn& turn, CallId id) {
  const Call call = turn.state.calls.at(id);
  auto response = answerOf(turn.state, call);
  if (!response) {
    const auto& [group, take] = *call.groups.begin();
    return refuseCall(turn, id, refuseBarred({*take.ids.begin(), group}, response.error()));
  }
  turn.state.calls.erase(id);
  AllocationResponse granted = *std::move(response);
  if (call.kind == CallKind::kAllocate) granted.annotations.emplace(kRefAnnotation, refsOf(call));
  for (const auto& [group, take] : call.groups) {
    if (call.again) continue;
    keep(turn, recordOf(turn, call, take, granted.annotations.at(kAllocatedAnnotation)));
  }
  turn.out.answers.push_back({id, std::move(granted), std::nullopt});
  if (call.prepare) startQueued(turn, call.prepare->claim);
}

}  // namespace vfiogate
