#include "plugind/core/ledger/restored.h"

#include <algorithm>

#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

using Allocations =
    std::vector<std::pair<NotedAllocation, std::set<UnitId>>>;  ///< with the members

/// Earlier ones first.
Allocations allocationsOf(const RecordedAllocations& recorded) {
  Allocations allocations;
  for (const RecordedGroup& group : recorded.groups) {
    for (NotedAllocation& noted : allocationsIn(group.note)) {
      allocations.emplace_back(std::move(noted), group.members);
    }
  }
  // Of the same second the kubelet has named the earlier one.
  std::ranges::stable_sort(allocations, {}, [](const auto& allocation) {
    return std::pair(allocation.first.since, !allocation.first.namedBy);
  });
  return allocations;
}

/// With a device that was unplugged when the group was recorded for the last time, and may be back.
HolderRecord recordOf(const Turn& turn, const NotedAllocation& noted, std::set<UnitId> members) {
  const LedgerState& state = turn.state;
  members.insert(noted.ids.begin(), noted.ids.end());
  const bool taken =
      std::ranges::find(state.records, noted.ref, &HolderRecord::ref) != state.records.end();
  HolderRecord record{.resource = noted.resource,
                      .ids = noted.ids,
                      .rest = {},
                      .members = std::move(members),
                      .answeredAt = noted.since,
                      .ref = taken ? freshRef(state, turn.now.draw) : noted.ref,
                      .state = noted.namedBy ? HolderState::kAllocated : HolderState::kAnswered,
                      .set = noted.set,
                      .claim = std::nullopt};
  record.podUid = noted.podUid;
  record.podName = noted.podName;
  // Of an answer that nobody named the kubelet's record may be under way still.
  record.since = record.stateSince = turn.now.instant;
  record.answeredWall = noted.since;
  record.evidence.named = noted.namedBy.has_value();
  record.evidence.namedBy = noted.namedBy;
  // By which kubelet before this one is not known: none may be taken for the last.
  const bool byThisOne = noted.namedBy && noted.namedBy == state.kubelet;
  record.evidence.epochNamed = byThisOne ? state.epoch : state.epoch - 2;
  return record;
}

/// What the kubelet's memory named, with what the note knows besides.
void enrich(const LedgerState& state, HolderRecord& record, const NotedAllocation& noted) {
  const auto same = std::ranges::find(state.records, noted.ref, &HolderRecord::ref);
  if (same == state.records.end()) record.ref = noted.ref;
  record.answeredAt = noted.since;
  if (record.set.empty()) record.set = noted.set;
  if (!record.podUid) record.podUid = noted.podUid;
  if (!record.podName) record.podName = noted.podName;
}

/// Whose spec is on disk: that is a claim's record, and says nothing of its hardware.
void restoreClaim(LedgerState& state, const NotedAllocation& noted) {
  for (HolderRecord& record : state.records) {
    const bool same = record.claim && nameOf(*record.claim) == noted.claim &&
                      record.resource == noted.resource && record.ids == noted.ids;
    if (!same) continue;
    enrich(state, record, noted);
    record.fingerprint = noted.hardware;
  }
}

bool ofOneResource(const HolderRecord& record, const NotedAllocation& noted) {
  return !record.isClaim() && record.resource == noted.resource && meet(record.ids, noted.ids);
}

bool samePod(const HolderRecord& record, const NotedAllocation& noted) {
  return !record.podUid || !noted.podUid || record.podUid == noted.podUid;
}

void restore(Turn& turn, const Allocations& all, const NotedAllocation& noted,
             const std::set<UnitId>& members) {
  auto& records = turn.state.records;
  const auto known = std::ranges::find_if(records, [&noted](const HolderRecord& record) {
    return ofOneResource(record, noted) && samePod(record, noted) && record.ref == noted.ref;
  });
  if (known != records.end()) return enrich(turn.state, *known, noted);
  const auto related = std::ranges::find_if(
      records, [&noted](const HolderRecord& record) { return ofOneResource(record, noted); });
  if (related == records.end()) {
    records.push_back(recordOf(turn, noted, members));
    return turn.out.journal.push_back(journalEvent(turn, records.back(), "restored"));
  }
  const auto other = std::ranges::find_if(all, [&related](const auto& allocation) {
    return ofOneResource(*related, allocation.first) && samePod(*related, allocation.first) &&
           allocation.first.ref == related->ref;
  });
  if (other == all.end()) {  // named without a reference: the same grant, unless of another pod
    if (samePod(*related, noted)) return enrich(turn.state, *related, noted);
    if (related->evidence.named) return;  // by the kubelet, which had let the other go
    records.push_back(recordOf(turn, noted, members));
    return turn.out.journal.push_back(journalEvent(turn, records.back(), "restored"));
  }
  const auto order = [](const NotedAllocation& one) { return std::pair(one.since, !one.namedBy); };
  if (order(noted) <= order(other->first)) return;  // let go before the other was granted
  HolderRecord later = recordOf(turn, noted, members);
  later.keepRestOf(*related);
  related->before.clear();
  later.before = {*related};
  *related = std::move(later);
  turn.out.journal.push_back(journalEvent(turn, *related, "restored"));
}

bool isRemembered(const HolderRecord& record) {
  return record.evidence.namedIn || record.evidence.listed;
}

/// What is open, was named by this very kubelet, and is neither in its checkpoint nor in List, was
/// let go: it is not offered. A later grant to the same pod need not be in them. Of what an earlier
/// kubelet named the first List says nothing: a starting kubelet lists nobody (F-A).
void letLinger(LedgerState& state, const PodList* listed) {
  for (HolderRecord& record : state.records) {
    const bool known = state.version && record.evidence.namedBy == state.kubelet;
    const bool restored = known && !record.isClaim() && record.evidence.named &&
                          record.state == HolderState::kAllocated && !isRemembered(record) &&
                          std::ranges::none_of(record.before, isRemembered);
    const bool lives =
        listed != nullptr && record.podName && listed->pods.contains(*record.podName);
    const bool open = useOf(state, reachOf(state, record.members)).use == GroupUse::kOpen;
    if (restored && open && !lives) record.state = HolderState::kLingering;
  }
}

}  // namespace

void restoreSuspicions(LedgerState& state, const RecordedAllocations& recorded) {
  for (const RecordedGroup& group : recorded.groups) {
    for (auto& [resource, devices] : suspicionsIn(group.note)) {
      state.suspected[resource].insert(devices.begin(), devices.end());
    }
  }
}

void restoreAllocations(Turn& turn, const RecordedAllocations& recorded, const PodList* listed) {
  Allocations all = allocationsOf(recorded);
  const auto pods = std::stable_partition(all.begin(), all.end(), [](const auto& allocation) {
    return allocation.first.claim.has_value();
  });
  for (auto claim = all.begin(); claim != pods; ++claim) restoreClaim(turn.state, claim->first);
  all.erase(all.begin(), pods);
  for (const auto& [noted, members] : all) {
    if (noted.namedBy) turn.state.namedBefore.emplace(noted.ref.str(), *noted.namedBy);
    restore(turn, all, noted, members);
  }
  letLinger(turn.state, listed);
  if (!all.empty()) wantReconcile(turn);
}

}  // namespace vfiogate
