// Rows 6 and 42 to 46: claims of DRA.

#include <algorithm>
#include <utility>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/fingerprint.h"

namespace vfiogate {
namespace {

std::vector<std::size_t> recordsOf(const LedgerState& state, const std::string& claimUid) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    if (state.records[i].claim && state.records[i].claim->uid == claimUid) found.push_back(i);
  }
  return found;
}

GroupUse usedNow(const Take& take, IommuGroupId group) {
  const GroupReading reading = take.reading.value_or(GroupReading{});
  if (reading.answer == GroupReading::Answer::kVanished) return GroupUse::kIdle;
  const auto seen = reading.seen.groups.find(group);
  if (reading.answer != GroupReading::Answer::kSeen || seen == reading.seen.groups.end()) {
    return GroupUse::kUnknown;
  }
  return useWith(seen->second.use, reading.probe);
}

/// Row 43. Null: row 42.
std::optional<Refusal> refuseUnprepare(const LedgerState& state, Instant now, const Take& take,
                                       IommuGroupId group) {
  const RefusedDevice device{*take.ids.begin(), group};
  const GroupUse use = usedNow(take, group);
  if (use == GroupUse::kIdle) return std::nullopt;
  if (use == GroupUse::kOpen) return refuse(device, "still open", "still-open");
  const auto holders = recordsMeeting(state, take.members);
  const auto tried = holders.empty() ? std::nullopt : state.records[holders.front()].releasedAt;
  const bool waited = tried && now - *tried >= timing::kUnconfirmed;
  if (use == GroupUse::kBlind && waited) return std::nullopt;
  return refuseUntold(device, use, take.reading.value_or(GroupReading{}));
}

/// Row 6, and 5 of the claim's own group. Null: this record stands as it was prepared.
std::optional<Refusal> refuseAgain(const LedgerState& state, const HolderRecord& record,
                                   const PrepareRequest& request, const HardwareFacts& present) {
  const auto group = groupNumber(state, record.ids);
  const RefusedDevice device{*record.ids.begin(), group};
  if (record.unlinking) return refuse(device, "being given back", "claim-gone");
  if (record.state == HolderState::kLingering) {
    return refuse(device, "given back and still open", "still-open", {record.ref.str()});
  }
  const std::string allocated =
      record.fingerprint.empty()
          ? fingerprintOf(state.hardware,
                          handedOver(state.hardware, state.catalog, record.resource, record.ids))
          : record.fingerprint;
  if (auto other = refuseOther(present, allocated, "prepared")) return other;
  const auto readiness =
      judgeForClaim(state.hardware, state.catalog, request, record.ids, HeldBy::kWhoAsks);
  if (readiness.readiness == Readiness::kReady && group) return std::nullopt;
  return refuseBarred(device, readiness.bar);
}

/// A claim's devices never change: what else is asked for under its UID was not decided here.
std::optional<Refusal> refuseOthers(const LedgerState& state, const std::vector<std::size_t>& mine,
                                    const PrepareRequest& request) {
  for (const auto& [resource, ids] : request.devices) {
    for (const UnitId& id : ids) {
      const bool held = std::ranges::any_of(
          mine, [&](std::size_t index) { return state.records[index].ids.contains(id); });
      if (held) continue;
      return refuse({id, groupNumber(state, {id})}, "its claim was prepared with other devices",
                    "other-devices");
    }
  }
  return std::nullopt;
}

/// The claim is there, whatever was said before.
void keepClaim(const Turn& turn, HolderRecord& record) {
  record.evidence.claimGoneAt.reset();
  if (!record.evidence.claimLetGo) return;
  record.evidence.claimLetGo = false;
  record.releasedAt.reset();
  record.unconfirmedSince.reset();
  if (record.state != HolderState::kLingering) return;
  record.state = HolderState::kAllocated;
  record.stateSince = turn.now.instant;
}

}  // namespace

bool judgeAgain(Turn& turn, CallId id) {
  LedgerState& state = turn.state;
  Call& call = state.calls.at(id);
  const auto mine = recordsOf(state, call.prepare->claim.uid);
  if (mine.empty()) return false;
  std::set<UnitId> held;
  for (const std::size_t index : mine) {
    held.insert(state.records[index].ids.begin(), state.records[index].ids.end());
  }
  if (!isChecked(turn, id, held)) return true;
  const HardwareFacts present = checkedHardware(state, call);
  std::optional<Refusal> refusal = refuseOthers(state, mine, *call.prepare);
  if (!refusal) refusal = refuseUnchecked(state, call);
  for (const std::size_t index : mine) {
    if (!refusal) refusal = refuseAgain(state, state.records[index], *call.prepare, present);
  }
  if (refusal) {
    refuseCall(turn, id, *refusal);
    return true;
  }
  for (const std::size_t index : mine) {
    HolderRecord& record = state.records[index];
    record.releasedAt.reset();  // an Unprepare that was refused was not the end
    Take take{.resource = record.resource,
              .allocation = allocationOf(state, record.resource),
              .ids = record.ids,
              .members = record.members,
              .since = record.answeredAt,
              .ref = record.ref,
              .forClaim = true,
              .set = record.set,
              .reading = GroupReading{GroupReading::Answer::kSeen, state.hardware.snapshot}};
    call.groups.emplace(*groupNumber(state, record.ids), std::move(take));
  }
  call.again = true;
  call.stage = CallStage::kWaitsSpec;
  turn.out.specsToWrite.push_back(call.id);
  return true;
}

void judgeUnprepare(Turn& turn, CallId id) {
  LedgerState& state = turn.state;
  Call& call = state.calls.at(id);
  const auto mine = recordsOf(state, call.prepare->claim.uid);
  if (mine.empty()) {  // row 44
    call.stage = CallStage::kWaitsSpec;
    turn.out.specsToUnlink.push_back(call.prepare->claim);
    return;
  }
  if (!state.privdThere) {  // row 43
    return refuseCall(turn, id, refuseClaimUnchecked());
  }
  call.stage = CallStage::kTaking;
  for (const std::size_t index : mine) {
    HolderRecord& record = state.records[index];
    const auto group = groupNumber(state, record.members);
    if (!group) continue;  // gone, and so idle
    call.groups.emplace(*group, Take{.resource = record.resource,
                                     .allocation = {},
                                     .ids = record.ids,
                                     .members = record.members,
                                     .since = record.answeredAt,
                                     .ref = record.ref,
                                     .forClaim = true,
                                     .givesBack = true});
    turn.out.questions.push_back({*group, id, true});
  }
  if (call.groups.empty()) settleUnprepare(turn, id);
}

void settleUnprepare(Turn& turn, CallId id) {
  LedgerState& state = turn.state;
  Call& call = state.calls.at(id);
  std::optional<Refusal> refusal;
  bool open = false;
  for (const auto& [group, take] : call.groups) {
    auto one = refuseUnprepare(state, turn.now.instant, take, group);
    if (one && !refusal) refusal = std::move(one);
    open = open || usedNow(take, group) == GroupUse::kOpen;
  }
  const auto mine = recordsOf(state, call.prepare->claim.uid);
  if (refusal) {  // row 43: spec and holder stay
    for (const std::size_t index : mine) {
      HolderRecord& record = state.records[index];
      // The first try, from which a blind one's 60 s count, unless it was told that it is open; an
      // allocated claim is let go only by row 46.
      if (!record.releasedAt || open) record.releasedAt = turn.now.instant;
    }
    return refuseCall(turn, id, *refusal);
  }
  call.groups.clear();
  call.stage = CallStage::kWaitsSpec;  // row 42: unlinked, then free
  for (const std::size_t index : mine) state.records[index].unlinking = true;
  turn.out.specsToUnlink.push_back(call.prepare->claim);
}

void endUnlinking(Turn& turn, const std::string& claimUid, bool unlinked) {
  LedgerState& state = turn.state;
  std::optional<CallId> asked;
  for (const auto& [id, call] : state.calls) {
    const bool waits = call.kind == CallKind::kUnprepare && call.stage == CallStage::kWaitsSpec;
    if (waits && call.prepare->claim.uid == claimUid) asked = id;
  }
  for (std::size_t i = 0; i < state.records.size();) {
    HolderRecord& record = state.records[i];
    const bool concerned = record.claim && record.claim->uid == claimUid && record.unlinking;
    if (!concerned || !unlinked) {
      if (concerned) record.unlinking = false;
      ++i;
      continue;
    }
    const bool lingered = record.state == HolderState::kLingering;
    endRecord(turn, i, asked ? "unprepared" : lingered ? "closed" : "claim-gone");
  }
  if (unlinked) {
    state.failedUnlinks.erase(claimUid);
  } else {
    state.failedUnlinks.insert_or_assign(claimUid, turn.now.instant);
  }
  if (!asked) return;
  if (unlinked) return endCall(turn, *asked);
  refuseCall(turn, *asked, {"cdi", "the claim: its spec could not be unlinked, cdi"});
}

bool restsAfterUnlink(const LedgerState& state, const std::string& claimUid, Instant now) {
  const auto failed = state.failedUnlinks.find(claimUid);
  return failed != state.failedUnlinks.end() && now - failed->second < timing::kUseInterval;
}

void unlinkLeft(Turn& turn) {
  std::erase_if(turn.state.failedUnlinks, [&turn](const auto& failed) {
    const auto& [uid, tried] = failed;
    const bool waits = restsAfterUnlink(turn.state, uid, turn.now.instant);
    if (waits || !recordsOf(turn.state, uid).empty()) return false;
    turn.out.specsToUnlink.push_back({uid, {}, {}});
    return true;
  });
}

void checkClaim(Turn& turn, const std::string& claimUid, bool ours) {
  for (HolderRecord& record : turn.state.records) {
    if (!record.claim || record.claim->uid != claimUid) continue;
    Evidence& evidence = record.evidence;
    if (ours) {
      keepClaim(turn, record);
      continue;
    }
    if (!evidence.claimGoneAt) evidence.claimGoneAt = turn.now.instant;
    const bool gone = turn.now.instant - *evidence.claimGoneAt >= timing::kClaimGap;
    // Readings from before say nothing of a use that began later.
    if (gone && !evidence.claimLetGo) record.releasedAt = turn.now.instant;
    evidence.claimLetGo = evidence.claimLetGo || gone;
  }
}

void startQueued(Turn& turn, const ClaimName& claim) {
  for (auto& [id, call] : turn.state.calls) {
    const bool next = call.prepare && call.prepare->claim.uid == claim.uid;
    if (!next) continue;
    if (call.stage != CallStage::kQueued) return;  // another one runs
    return call.kind == CallKind::kPrepare ? judgeCall(turn, id) : judgeUnprepare(turn, id);
  }
}

}  // namespace vfiogate
