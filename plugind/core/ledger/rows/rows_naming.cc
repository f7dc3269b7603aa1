// Rows 19 to 24 and 28: what the kubelet's memory names, and what it no longer does.

#include <algorithm>

#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

bool samePod(const HolderRecord& record, const KubeletEntry& naming) {
  if (record.podUid && naming.podUid) return *record.podUid == *naming.podUid;
  if (record.podName && naming.podName) return *record.podName == *naming.podName;
  return true;
}

/// Whether the naming may be about this record: section 4, "entries of one pod UID under one
/// resource belong to one record for each group".
bool isAbout(const HolderRecord& record, const KubeletEntry& naming) {
  if (naming.claim) return record.claim && record.claim->uid == naming.claim->uid;
  if (record.isClaim() || record.resource != naming.resource) return false;
  const bool sameUid = record.podUid && naming.podUid && *record.podUid == *naming.podUid;
  return sameUid || (samePod(record, naming) && meet(record.ids, naming.ids));
}

/// An older version says nothing of a later grant.
bool isOlder(const HolderRecord& record, const KubeletEntry& naming) {
  // Row 17: the kubelet let go of it since.
  const bool lingers = record.state == HolderState::kLingering;
  if (!lingers && naming.refs.contains(record.ref.str())) return false;
  if (naming.asked && *naming.asked < record.since) return true;
  return naming.written && *naming.written < record.answeredWall;
}

/// The id of the set by which the kubelet has it; empty: by none.
std::string setOf(const KubeletEntry& naming, const UnitId& id) {
  const auto set = naming.sets.find(id);
  return set == naming.sets.end() ? std::string() : set->second;
}

/// The party before this one has let go, unless it is the same pod.
void endBefore(Turn& turn, HolderRecord& record) {
  if (record.before.empty() || !record.podUid) return;
  const HolderRecord before = std::move(record.before.front());
  record.before.clear();
  if (before.podUid != record.podUid) {
    turn.out.journal.push_back(journalEvent(turn, before, "released"));
  }
}

/// Rows 19 to 21: the record is the kubelet's, for sure.
void confirmNamed(Turn& turn, HolderRecord& record, const KubeletEntry& naming) {
  const bool known = record.podUid || record.podName;
  if (naming.podUid) record.podUid = naming.podUid;
  if (record.set.empty()) record.set = setOf(naming, *record.ids.begin());
  if (naming.podName) record.podName = naming.podName;
  endBefore(turn, record);
  Evidence& evidence = record.evidence;
  evidence.named = true;
  evidence.epochNamed = turn.state.epoch;
  evidence.namedBy = turn.state.kubelet;
  if (naming.written) evidence.namedIn = naming.written;
  evidence.absentFirst.reset();
  evidence.absentLast.reset();
  evidence.absentRead.reset();
  evidence.unlistedSince.reset();
  evidence.podLetGo = false;
  record.releasedAt.reset();
  record.unconfirmedSince.reset();
  if (record.state == HolderState::kAllocated) {
    const bool fresh = !known && (record.podUid || record.podName);
    if (fresh) turn.out.journal.push_back(journalEvent(turn, record, "identified"));
    return;
  }
  const char* reason = record.state == HolderState::kAnswered    ? "recorded"    // row 19
                       : record.state == HolderState::kForgotten ? "remembered"  // row 20
                                                                 : "adopted";    // row 21
  record.state = HolderState::kAllocated;
  record.stateSince = turn.now.instant;
  turn.out.journal.push_back(journalEvent(turn, record, reason));
}

/// The one that the grant had, where the kubelet recorded it and it is nobody else's.
HolderRef refOf(const Turn& turn, const KubeletEntry& naming) {
  const auto& records = turn.state.records;
  if (naming.refs.size() == 1) {
    const auto ref = HolderRef::parse(*naming.refs.begin());
    if (ref && std::ranges::find(records, *ref, &HolderRecord::ref) == records.end()) return *ref;
  }
  return freshRef(turn.state, turn.now.draw);
}

/// Rows 21 and 22: a record that no answer of this process made.
void addRecord(Turn& turn, const KubeletEntry& naming) {
  HolderRecord record{.resource = naming.resource,
                      .ids = naming.ids,
                      .rest = {},
                      .members = reachOf(turn.state, naming.ids),
                      .answeredAt = turn.now.seconds(),
                      .ref = refOf(turn, naming),
                      .state = HolderState::kAllocated,
                      .set = setOf(naming, *naming.ids.begin()),
                      .claim = naming.claim};
  record.podUid = naming.podUid;
  record.podName = naming.podName;
  record.byForeignIds = naming.byForeignIds;
  record.since = record.stateSince = turn.now.instant;
  record.answeredWall = naming.written.value_or(WallTime{});
  record.evidence.named = true;
  record.evidence.epochNamed = turn.state.epoch - naming.epochsAgo;
  record.evidence.namedIn = naming.written;
  if (naming.epochsAgo == 0) record.evidence.namedBy = turn.state.kubelet;
  const std::set<UnitId> members = record.members;
  turn.state.records.push_back(std::move(record));
  // One party may have devices of one group through several resources.
  const bool alone = ofOneParty(turn.state, recordsMeeting(turn.state, members));
  turn.out.journal.push_back(
      journalEvent(turn, turn.state.records.back(), alone ? "adopted" : "disputed"));
}

/// What was known of the groups before a new party showed up.
void clearTheWay(LedgerState& state, const std::set<UnitId>& members) {
  std::erase_if(state.marks, [&](const GroupMark& mark) {
    return mark.holding == Holding::kForeign && meet(mark.members, members);
  });
  std::erase_if(state.records, [&](const HolderRecord& record) {
    // A claim's spec is on disk still: its record stays until that is gone.
    return record.state == HolderState::kLingering && !record.isClaim() &&
           meet(record.members, members);
  });
}

}  // namespace

void name(Turn& turn, const KubeletEntry& naming) {
  LedgerState& state = turn.state;
  std::set<UnitId> left = naming.ids;
  bool older = false;
  for (HolderRecord& record : state.records) {
    const bool about = isAbout(record, naming);
    if (isOlder(record, naming)) {
      older = older || meet(record.members, naming.ids);
      continue;
    }
    // One pod may hold several groups: a record for each, told apart by the members.
    if (!about || !meet(record.members, naming.ids)) continue;
    confirmNamed(turn, record, naming);
    for (const UnitId& member : reachOf(state, record.members)) {
      if (left.erase(member) == 0) continue;
      const bool resting = record.rest.contains(member);
      if (resting && !(naming.joinsRest && record.podUid == naming.podUid)) continue;
      record.rest.erase(member);
      record.ids.insert(member);
    }
  }
  // A version from before a grant names those who had the group then.
  if (older) return;
  // What is only in the `rest` of a record waits for row 24, which knows the pod.
  for (const HolderRecord& record : state.records) {
    const bool unknownPod = !record.podUid && record.resource == naming.resource;
    if (!unknownPod || naming.claim) continue;
    for (const UnitId& id : record.rest) left.erase(id);
  }
  while (!left.empty()) {  // rows 21 to 23, one record per group
    const std::set<UnitId> members = reachOf(state, {*left.begin()});
    KubeletEntry part = naming;
    part.ids.clear();
    for (const UnitId& id : left) {
      if (members.contains(id)) part.ids.insert(id);
    }
    for (const UnitId& id : part.ids) left.erase(id);
    clearTheWay(state, members);
    for (HolderRecord& other : state.records) {
      for (const UnitId& id : part.ids) other.rest.erase(id);
    }
    addRecord(turn, part);
  }
}

}  // namespace vfiogate
