#include "plugind/core/ledger/state/ledger_state.h"

#include <algorithm>

#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// By the UID, or by the name where both are known by that alone, as by a List.
bool isOnePod(const HolderRecord& one, const HolderRecord& other) {
  if (one.podUid || other.podUid) return one.podUid == other.podUid;
  return one.podName && one.podName == other.podName;
}

}  // namespace

bool isOwn(const LedgerState& state, const CheckpointVersion& version) {
  return state.kubelet && version.written >= state.kubelet->changed;
}

std::set<UnitId> reachOf(const LedgerState& state, const std::set<UnitId>& addresses) {
  std::set<UnitId> reach = addresses;
  for (const UnitId& address : addresses) {
    reach.merge(groupMembers(state.hardware.snapshot, address));
  }
  return reach;
}

std::optional<IommuGroupId> groupNumber(const LedgerState& state,
                                        const std::set<UnitId>& addresses) {
  for (const UnitId& address : addresses) {
    if (const auto group = groupOf(state.hardware.snapshot, address)) return group;
  }
  return std::nullopt;
}

std::vector<std::size_t> recordsMeeting(const LedgerState& state, const std::set<UnitId>& members) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    if (meet(state.records[i].members, members)) found.push_back(i);
  }
  return found;
}

const Take* takeMeeting(const LedgerState& state, const std::set<UnitId>& members,
                        std::optional<CallId> except) {
  for (const auto& [id, call] : state.calls) {
    if (id == except) continue;
    for (const auto& [group, take] : call.groups) {
      if (meet(take.members, members)) return &take;
    }
  }
  return nullptr;
}

const GroupMark* markMeeting(const LedgerState& state, const std::set<UnitId>& members,
                             Holding holding) {
  const auto found = std::ranges::find_if(state.marks, [&](const GroupMark& mark) {
    return mark.holding == holding && meet(mark.members, members);
  });
  return found == state.marks.end() ? nullptr : &*found;
}

Holding holdingOf(const LedgerState& state, const std::set<UnitId>& members) {
  return holdingOf(state, members, recordsMeeting(state, members));
}

Holding holdingOf(const LedgerState& state, const std::set<UnitId>& members,
                  const std::vector<std::size_t>& records) {
  if (takeMeeting(state, members) != nullptr) return Holding::kTaking;
  if (markMeeting(state, members, Holding::kReturning) != nullptr) return Holding::kReturning;
  if (records.size() > 1) return Holding::kAllocated;
  if (records.size() == 1) {
    switch (state.records[records.front()].state) {
      case HolderState::kAnswered:
        return Holding::kAnswered;
      case HolderState::kAllocated:
        return Holding::kAllocated;
      case HolderState::kForgotten:
        return Holding::kForgotten;
      case HolderState::kLingering:
        return Holding::kLingering;
    }
  }
  const bool foreign = markMeeting(state, members, Holding::kForeign) != nullptr;
  return foreign ? Holding::kForeign : Holding::kFree;
}

bool ofOneParty(const LedgerState& state, const std::vector<std::size_t>& records) {
  return std::ranges::all_of(records, [&](std::size_t index) {
    const HolderRecord& first = state.records[records.front()];
    const HolderRecord& other = state.records[index];
    const bool samePod = isOnePod(first, other);
    return first.claim == other.claim && (first.isClaim() || samePod || records.size() == 1);
  });
}

bool isHeld(Holding holding) {
  return holding == Holding::kAnswered || holding == Holding::kAllocated ||
         holding == Holding::kForgotten;
}

UseTrack useOf(const LedgerState& state, const std::set<UnitId>& members) {
  const auto rank = [](GroupUse use) {
    switch (use) {
      case GroupUse::kIdle:
        return 0;
      case GroupUse::kBlind:
        return 1;
      case GroupUse::kUnknown:
        return 2;
      case GroupUse::kOpen:
        return 3;
    }
    return 2;
  };
  std::optional<UseTrack> worst;
  for (const UnitId& member : members) {
    const auto found = state.use.find(member);
    const UseTrack track = found == state.use.end() ? UseTrack{} : found->second;
    if (!worst || rank(track.use) > rank(worst->use)) {
      worst = track;
    } else if (track.use == worst->use) {
      // For idle all must have been read; for the others one of them is enough, and this is safe.
      worst->first = std::max(worst->first, track.first);
      worst->last = std::min(worst->last, track.last);
      worst->probedIdle = worst->probedIdle && track.probedIdle;
    }
  }
  return worst.value_or(UseTrack{});
}

bool confirmed(const UseTrack& track, GroupUse use, Instant notBefore) {
  if (track.use != use || track.last < notBefore) return false;
  return track.probedIdle || track.last - track.first >= timing::kReadingGap;
}

HolderRef freshRef(const LedgerState& state, std::uint16_t draw) {
  const auto isLive = [&state](const HolderRef& ref) {
    const auto taken = [&ref](const auto& entry) { return entry.second.ref == ref; };
    return std::ranges::find(state.records, ref, &HolderRecord::ref) != state.records.end() ||
           std::ranges::any_of(state.calls, [&taken](const auto& entry) {
             return std::ranges::any_of(entry.second.groups, taken);
           });
  };
  while (isLive(HolderRef(draw))) ++draw;
  return HolderRef(draw);
}

JournalEvent journalEvent(const Turn& turn, const HolderRecord& record, const std::string& reason) {
  return {.event = reason,
          .time = turn.now.seconds(),
          .group = groupNumber(turn.state, record.members),
          .resource = record.resource,
          .ids = record.ids,
          .rest = record.rest,
          .members = record.members,
          .ref = record.ref,
          .reason = reason,
          .text = {},
          .foreignIds = {},
          .claim = record.claim,
          .podName = record.podName,
          .podUid = record.podUid};
}

}  // namespace vfiogate
