// Rows 31 to 35 and 48 to 50: hardware, privd and the kubelet come and go.

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/more_tickets.h"

namespace vfiogate {
namespace {

void readUse(Turn& turn, const UnitId& member, GroupUse use, bool probed) {
  UseTrack& track = turn.state.use[member];
  if (track.use != use) track = {use, turn.now.instant, turn.now.instant, false};
  track.last = turn.now.instant;
  track.probedIdle = probed && use == GroupUse::kIdle;
}

/// What a reading says of the holders: opened since the PreStart; idle again is a reason to
/// reconcile.
void readByHolders(Turn& turn, const std::set<UnitId>& members, GroupUse before, GroupUse use) {
  for (const std::size_t index : recordsMeeting(turn.state, members)) {
    HolderRecord& record = turn.state.records[index];
    if (use == GroupUse::kOpen && record.preStartAt) record.openedSincePreStart = true;
    const bool closed = before == GroupUse::kOpen && use == GroupUse::kIdle;
    if (closed && !record.isClaim() && record.state != HolderState::kLingering) wantReconcile(turn);
  }
}

void readGroup(Turn& turn, const IommuGroup& group, GroupReading::Probe probe) {
  const GroupUse use = useWith(group.use, probe);
  const bool probed = use != group.use;
  const std::set<UnitId> members = unitsOf(group);
  if (members.empty()) return;
  const GroupUse before = useOf(turn.state, members).use;
  for (const UnitId& member : members) readUse(turn, member, use, probed);
  readByHolders(turn, members, before, use);
}

/// Rows 33 and 34, told: what became of each record's devices.
void tellChanges(Turn& turn, const HardwareFacts& before) {
  const auto present = [](const HardwareFacts& facts, const std::set<UnitId>& ids) {
    return std::ranges::all_of(
        ids, [&facts](const UnitId& id) { return isPresent(facts.snapshot, id); });
  };
  for (const HolderRecord& record : turn.state.records) {
    const bool was = present(before, record.ids);
    const bool is = present(turn.state.hardware, record.ids);
    if (was && !is) turn.out.journal.push_back(journalEvent(turn, record, "gone"));
    const UnitId& first = *record.ids.begin();
    const bool moved =
        was && is &&
        groupOf(before.snapshot, first) != groupOf(turn.state.hardware.snapshot, first);
    if (moved) turn.out.journal.push_back(journalEvent(turn, record, "regrouped"));
    const auto holders = recordsMeeting(turn.state, reachOf(turn.state, record.members));
    if (moved && !ofOneParty(turn.state, holders)) {
      turn.out.journal.push_back(journalEvent(turn, record, "disputed"));
    }
  }
}

}  // namespace

std::vector<CallId> callsAt(const LedgerState& state, CallStage stage) {
  std::vector<CallId> ids;
  for (const auto& [id, call] : state.calls) {
    if (call.stage == stage) ids.push_back(id);
  }
  return ids;
}

void judgeAnew(Turn& turn, CallId id) {
  const auto found = turn.state.calls.find(id);
  if (found == turn.state.calls.end()) return;
  if (areTickets(found->second.allocate.ids)) return answerTickets(turn, id);
  switch (found->second.kind) {
    case CallKind::kAllocate:
    case CallKind::kPrepare:
      return judgeCall(turn, id);
    case CallKind::kPreStart:
      return judgeStart(turn, id);
    case CallKind::kUnprepare:
      return judgeUnprepare(turn, id);
  }
}

void foldHardware(Turn& turn, HardwareFacts facts, ResourceCatalog catalog) {
  LedgerState& state = turn.state;
  const bool back = !state.privdThere;
  const HardwareFacts before = std::exchange(state.hardware, std::move(facts));
  const bool other = state.catalog != catalog;
  state.catalog = std::move(catalog);
  state.hardwareKnown = true;
  if (back) {  // row 49
    state.privdThere = true;
    state.awaySince.reset();
    state.allocationClosed = false;
    state.tellAllocated = true;
    resumeReturns(turn);
    for (auto& [uid, tried] : state.failedUnlinks) tried = {};
  }
  for (const auto& [id, group] : state.hardware.snapshot.groups) {
    readGroup(turn, group, GroupReading::Probe::kNone);
  }
  std::erase_if(state.use, [&state](const auto& entry) {  // nobody asks for these any more
    return !isPresent(state.hardware.snapshot, entry.first) &&
           recordsMeeting(state, {entry.first}).empty() &&
           markMeeting(state, {entry.first}, Holding::kForeign) == nullptr;
  });
  std::erase_if(state.asked, [&state](const auto& entry) {
    return !state.hardware.snapshot.groups.contains(entry.first);
  });
  std::erase_if(state.refusals, [&state](const auto& entry) {
    return !isPresent(state.hardware.snapshot, entry.first);
  });
  tellChanges(turn, before);
  if (other) readAgain(turn);
  tellOffers(turn, !back);
  for (const CallId id : callsAt(state, CallStage::kWaitsPrivd)) judgeAnew(turn, id);
  for (const CallId id : callsAt(state, CallStage::kWaitsBind)) judgeAnew(turn, id);
}

void foldReading(Turn& turn, const GroupReading& reading) {
  if (reading.answer != GroupReading::Answer::kSeen || !turn.state.privdThere) return;
  for (const auto& [id, group] : reading.seen.groups) readGroup(turn, group, reading.probe);
}

void markForeign(Turn& turn, bool atOnce) {
  LedgerState& state = turn.state;
  if (!state.privdThere || !state.begun) return;
  for (const auto& [id, group] : state.hardware.snapshot.groups) {
    const std::set<UnitId> members = unitsOf(group);
    const UseTrack use = useOf(state, members);
    const bool open =
        atOnce ? use.use == GroupUse::kOpen : confirmed(use, GroupUse::kOpen, Instant{});
    if (!open) continue;
    if (members.empty() || holdingOf(state, members) != Holding::kFree) continue;
    state.marks.push_back({Holding::kForeign, members, turn.now.instant, turn.now.seconds(), {}});
    JournalEvent event{.event = "foreign", .time = turn.now.seconds(), .group = id};
    event.members = members;
    event.reason = "foreign";
    turn.out.journal.push_back(std::move(event));
  }
}

void closeAllocation(LedgerState& state) {
  state.allocationClosed = true;
}

void losePrivd(Turn& turn) {
  LedgerState& state = turn.state;
  if (!state.privdThere) return;
  state.privdThere = false;
  state.awaySince = turn.now.instant;
  state.awayAt = turn.now.seconds();
  state.waitUsed = false;
  state.asked.clear();
  for (auto& [address, track] : state.use) {
    track = {GroupUse::kUnknown, turn.now.instant, turn.now.instant, false};
  }
  for (HolderRecord& record : state.records) record.unconfirmedSince.reset();
  for (GroupMark& mark : state.marks) mark.unconfirmedSince.reset();
  auto undecided = callsAt(state, CallStage::kTaking);
  for (const CallStage stage :
       {CallStage::kWaitsSpec, CallStage::kWaitsBind, CallStage::kChecking}) {
    for (const CallId id : callsAt(state, stage)) undecided.push_back(id);
  }
  for (const CallId id : undecided) {  // each group is `before`, the call is judged anew: row 1
    Call& call = state.calls.at(id);
    call.groups.clear();
    call.bindsAsked.clear();
    call.checks.clear();
    call.checkedBound = false;
    call.again = false;
    for (HolderRecord& record : state.records) record.unlinking = false;
    judgeAnew(turn, id);
  }
}

void changeEpoch(Turn& turn, const KubeletIdentity& kubelet) {
  LedgerState& state = turn.state;
  if (state.kubelet == kubelet) return;
  const bool first = !state.kubelet;
  state.kubelet = kubelet;
  ++state.epoch;
  state.epochSince = turn.now.instant;
  inheritVersion(state, turn.now.instant);
  state.inheritedGoesOn = false;
  for (HolderRecord& record : state.records) {
    Evidence& evidence = record.evidence;
    evidence.absentFirst.reset();
    evidence.absentLast.reset();
    evidence.absentRead.reset();
    evidence.unlistedSince.reset();
    evidence.namedIn.reset();
    record.restAbsent.clear();
  }
  if (first) return;
  for (const CallId id : callsAt(state, CallStage::kTaking)) {  // taking: row 18
    if (!state.calls.contains(id)) continue;
    refuseCall(turn, id, {"cancelled", "a new kubelet came up before the answer, cancelled"});
  }
  if (!state.records.empty()) wantReconcile(turn);
}

}  // namespace vfiogate
