// Rows 25 to 30 and 46: what is let go, and when hardware says that it is free.

#include <algorithm>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"

namespace vfiogate {
namespace {

using Due = std::optional<Instant>;

/// For whoever reads the journal after the fact.
constexpr const char* kPodUnknown =
    "pod unknown: it ended before the kubelet's memory could be read, or never began";

void bring(Due& due, Instant candidate) {
  if (!due || candidate < *due) due = candidate;
}

/// "A device that is gone is idle": time alone makes the second reading.
void readGone(Turn& turn) {
  const auto read = [&turn](const std::set<UnitId>& members) {
    for (const UnitId& member : members) {
      if (isPresent(turn.state.hardware.snapshot, member)) continue;
      const auto [found, fresh] = turn.state.use.try_emplace(member);
      UseTrack& track = found->second;
      if (fresh || track.use != GroupUse::kIdle)
        track = {GroupUse::kIdle, turn.now.instant, {}, {}};
      track.last = turn.now.instant;
    }
  };
  for (const HolderRecord& record : turn.state.records) read(record.members);
  for (const GroupMark& mark : turn.state.marks) read(mark.members);
}

/// True once hardware has been mute for kUnconfirmed. Keeps count in `since`.
bool staysMute(const Turn& turn, GroupUse use, std::optional<Instant>& since) {
  if (!isSilent(use)) {
    since.reset();
    return false;
  }
  if (!since) since = turn.now.instant;
  return turn.now.instant - *since >= timing::kUnconfirmed;
}

/// A PreStart that no opening followed: the VM may be about to open it (section 15).
bool settles(const HolderRecord& record, Instant now) {
  return record.preStartAt && !record.openedSincePreStart &&
         now - *record.preStartAt < timing::kSettling;
}

bool waitsForUse(const LedgerState& state, const HolderRecord& record, Instant now) {
  if (record.unlinking) return false;
  if (record.claim && restsAfterUnlink(state, record.claim->uid, now)) return false;
  return record.state == HolderState::kLingering || isLetGo(state, record, now);
}

/// Rows 25 to 30 of one record: the reason for which it may end. Null: it may not.
const char* endOf(Turn& turn, HolderRecord& record) {
  LedgerState& state = turn.state;
  const bool lingers = record.state == HolderState::kLingering;
  if (!waitsForUse(state, record, turn.now.instant)) return nullptr;
  if (!record.releasedAt) record.releasedAt = turn.now.instant;
  if (takeMeeting(state, record.members) != nullptr) return nullptr;
  const char* reason = lingers ? "closed" : record.isClaim() ? "claim-gone" : "released";
  const std::set<UnitId> reach = reachOf(state, record.members);
  if (recordsMeeting(state, reach).size() > 1) return reason;  // the others may have it open
  const UseTrack use = useOf(state, reach);
  if (confirmed(use, GroupUse::kIdle, *record.releasedAt)) {  // rows 25, 29, 30, 46
    return !lingers && settles(record, turn.now.instant) ? nullptr : reason;
  }
  if (use.use == GroupUse::kOpen && !lingers) {  // rows 26, 29, 46
    record.state = HolderState::kLingering;
    record.stateSince = turn.now.instant;
    record.unconfirmedSince.reset();
    turn.out.journal.push_back(
        journalEvent(turn, record, record.isClaim() ? "claim-gone" : "released-open"));
    return nullptr;
  }
  return staysMute(turn, use.use, record.unconfirmedSince) ? "unconfirmed" : nullptr;  // 27, 29
}

/// True: it ended.
bool settleRecord(Turn& turn, std::size_t index) {
  auto& records = turn.state.records;
  const char* reason = endOf(turn, records[index]);
  if (reason == nullptr) return false;
  const auto claim = records[index].claim;
  // One spec stands for all groups of a claim.
  const bool all = !claim || std::ranges::all_of(records, [&](HolderRecord& record) {
    return !record.claim || record.claim->uid != claim->uid || endOf(turn, record) != nullptr;
  });
  if (all) endRecord(turn, index, reason);
  return all;
}

/// Rows 27 and 30 of a group that strangers have open. True: it is over.
bool settleForeign(Turn& turn, GroupMark& mark) {
  if (mark.holding != Holding::kForeign) return false;
  const UseTrack use = useOf(turn.state, mark.members);
  const bool closed = confirmed(use, GroupUse::kIdle, mark.since);
  if (!closed && !staysMute(turn, use.use, mark.unconfirmedSince)) return false;
  JournalEvent event{.event = closed ? "closed" : "unconfirmed", .time = turn.now.seconds()};
  event.group = groupNumber(turn.state, mark.members);
  event.members = mark.members;
  event.reason = event.event;
  turn.out.journal.push_back(std::move(event));
  return true;
}

/// When privd is to be asked about these members next. Absent: they are in no group.
Due questionDue(const LedgerState& state, const std::set<UnitId>& members, Instant since) {
  const auto group = groupNumber(state, members);
  const UseTrack use = useOf(state, members);
  if (!group) return use.first + timing::kReadingGap;
  const auto asked = state.asked.find(*group);
  // What shows nothing is no answer, however often it is read.
  const Instant read = isSilent(use.use) ? Instant{} : use.last;
  const Instant last = std::max(read, asked == state.asked.end() ? Instant{} : asked->second);
  if (last < since) return since;
  // Idle twice, and it waits for something else.
  const bool idleOnce = use.use == GroupUse::kIdle && !confirmed(use, GroupUse::kIdle, since);
  return last + (idleOnce ? timing::kReadingGap : timing::kUseInterval);
}

/// Groups that are free and were read open once (row 31).
std::vector<std::set<UnitId>> suspects(const LedgerState& state) {
  std::vector<std::set<UnitId>> found;
  for (const auto& [id, group] : state.hardware.snapshot.groups) {
    if (group.use != GroupUse::kOpen) continue;
    const std::set<UnitId> members = unitsOf(group);
    if (holdingOf(state, members) == Holding::kFree) found.push_back(members);
  }
  return found;
}

/// Everything that waits for a reading, and since when.
std::vector<std::pair<std::set<UnitId>, Instant>> waiting(const LedgerState& state, Instant now) {
  std::vector<std::pair<std::set<UnitId>, Instant>> found;
  for (const HolderRecord& record : state.records) {
    if (waitsForUse(state, record, now)) {
      found.emplace_back(reachOf(state, record.members), record.releasedAt.value_or(now));
    }
  }
  for (const GroupMark& mark : state.marks) {
    if (mark.holding == Holding::kForeign) found.emplace_back(mark.members, mark.since);
  }
  for (const auto& members : suspects(state)) found.emplace_back(members, Instant{});
  return found;
}

}  // namespace

void startReturn(Turn& turn, const std::set<UnitId>& members) {
  const auto group = groupNumber(turn.state, members);
  if (!group) return;
  turn.state.marks.push_back({Holding::kReturning, reachOf(turn.state, members), turn.now.instant,
                              turn.now.seconds(), std::nullopt});
  turn.out.returns.push_back(*group);
}

void endRecord(Turn& turn, std::size_t index, const std::string& reason) {
  HolderRecord& record = turn.state.records[index];
  if (record.isClaim() && !record.unlinking) {  // 5.5, backwards: unlinked, then free
    for (HolderRecord& one : turn.state.records) {
      one.unlinking = one.unlinking || (one.claim && one.claim->uid == record.claim->uid);
    }
    turn.out.specsToUnlink.push_back(*record.claim);
    return;
  }
  JournalEvent ended = journalEvent(turn, record, reason);
  if (!record.isClaim() && !record.podUid && !record.podName) ended.text = kPodUnknown;
  turn.out.journal.push_back(std::move(ended));
  if (!record.before.empty() && !record.evidence.named) {  // who had it before has it still
    HolderRecord before = std::move(record.before.front());
    before.releasedAt.reset();
    record = std::move(before);
    turn.out.journal.push_back(journalEvent(turn, record, "remembered"));
    wantReconcile(turn);
    return;
  }
  if (!record.before.empty()) {
    turn.out.journal.push_back(journalEvent(turn, record.before.front(), "released"));
  }
  const std::set<UnitId> members = record.members;
  const bool toReturn = allocationOf(turn.state, record.resource).returnToOriginal;
  turn.state.records.erase(turn.state.records.begin() + static_cast<std::ptrdiff_t>(index));
  const auto group = groupNumber(turn.state, members);
  const bool bound = group && turn.state.hardware.boundForAllocation.contains(*group);
  if (toReturn && bound && recordsMeeting(turn.state, members).empty()) startReturn(turn, members);
}

void settleReleases(Turn& turn) {
  if (!turn.state.privdThere) return;  // row 48: nothing becomes free
  unlinkLeft(turn);
  readGone(turn);
  for (std::size_t i = 0; i < turn.state.records.size();) {
    // Where one ended another is in its place, or the one that it stood for.
    if (!settleRecord(turn, i)) ++i;
  }
  std::erase_if(turn.state.marks, [&turn](GroupMark& mark) { return settleForeign(turn, mark); });
}

void askUse(Turn& turn) {
  LedgerState& state = turn.state;
  if (!state.privdThere) return;
  for (const auto& [members, since] : waiting(state, turn.now.instant)) {
    const auto group = groupNumber(state, members);
    const auto due = questionDue(state, members, since);
    if (!group || !due || *due > turn.now.instant) continue;
    state.asked.insert_or_assign(*group, turn.now.instant);
    // Section 3: the kubelet has let go of all of these but a suspect, which is not probed.
    const bool probe = holdingOf(state, members) != Holding::kFree;
    turn.out.questions.push_back({*group, std::nullopt, probe});
  }
}

std::optional<Instant> releaseDue(const LedgerState& state) {
  Due due;
  const auto later = [&](Instant candidate) {
    if (candidate > state.lastEvent) bring(due, candidate);
  };
  for (const HolderRecord& record : state.records) {
    if (record.state == HolderState::kForgotten && !record.podName) {
      later(record.stateSince + timing::kNamelessLetGo);
    }
    if (!state.privdThere || !record.releasedAt || record.unlinking) continue;
    if (record.unconfirmedSince) later(*record.unconfirmedSince + timing::kUnconfirmed);
    if (record.preStartAt) later(*record.preStartAt + timing::kSettling);
  }
  if (!state.privdThere) return due;
  for (const auto& [uid, tried] : state.failedUnlinks) later(tried + timing::kUseInterval);
  for (const GroupMark& mark : state.marks) {
    if (mark.unconfirmedSince) later(*mark.unconfirmedSince + timing::kUnconfirmed);
  }
  for (const auto& [members, since] : waiting(state, state.lastEvent)) {
    const auto question = questionDue(state, members, since);
    // Of a device that is gone the second reading is made by time alone.
    const bool gone = !groupNumber(state, members);
    if (question && gone) later(*question);
    if (question && !gone) bring(due, *question);
  }
  return due;
}

}  // namespace vfiogate
