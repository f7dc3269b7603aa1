#include "plugind/core/ledger/rows/fast_path.h"

#include <algorithm>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// The device is in the resource's frame, and as a taken one has to be.
bool standsIn(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const auto shown = state.shown.find(resource);
  if (shown == state.shown.end()) return false;
  const auto device = shown->second.devices.find(id.str());
  return device != shown->second.devices.end() && device->second.device.healthy &&
         !device->second.lostAt;
}

/// Of the group only what is taken is in any frame, so no frame changes.
bool nobodyElseSees(const LedgerState& state, const Take& take) {
  if (!take.set.empty() || inAnySet(state.catalog, take.members)) return false;
  for (const UnitId& id : take.ids) {
    if (!standsIn(state, take.resource, id)) return false;
  }
  return std::ranges::none_of(take.members, [&](const UnitId& member) {
    return std::ranges::any_of(state.shown, [&](const auto& entry) {
      const bool taken = entry.first == take.resource && take.ids.contains(member);
      return !taken && entry.second.devices.contains(member.str());
    });
  });
}

/// A group that is not free has no representatives.
void withdrawRepresentatives(LedgerState& state, const Take& take) {
  for (auto& [resource, shown] : state.shown) {
    if (allocationOf(state, resource).groupUnit != GroupUnit::kOne) continue;
    for (const UnitId& member : take.members) shown.representatives.erase(member);
  }
}

/// An Allocate that waits for readings alone.
bool waitsForReadings(const Call& call) {
  return call.kind == CallKind::kAllocate && call.stage == CallStage::kTaking &&
         std::ranges::none_of(call.groups, [](const auto& entry) { return entry.second.bind; });
}

/// A device that is gone stays in its frame while its resource has an open call: it is due at once
/// when that ends.
bool someDeviceIsLost(const LedgerState& state) {
  return std::ranges::any_of(state.shown, [](const auto& entry) {
    return std::ranges::any_of(entry.second.devices,
                               [](const auto& one) { return one.second.lostAt.has_value(); });
  });
}

bool bring(LedgerState& state, std::optional<Instant> due, Instant now) {
  if (!due) return true;
  state.fastUntil = std::min(*state.fastUntil, *due);
  return *due > now;
}

}  // namespace

FastPath::FastPath(const LedgerState& state, Instant now)
    : was_(state.fastUntil && *state.fastUntil > now &&
           std::ranges::all_of(state.calls,
                               [now](const auto& entry) { return entry.second.deadline > now; })),
      calls_(state.calls.size()),
      records_(state.records.size()),
      marks_(state.marks.size()),
      reconcileWanted_(state.reconcile.wanted) {}

bool FastPath::staysAfterTaking(Turn& turn, CallId id) const {
  LedgerState& state = turn.state;
  const Effects& out = turn.out;
  const bool onlyAsks = out.answers.empty() && out.binds.empty() && out.journal.empty() &&
                        !out.beginReconcile && state.reconcile.wanted == reconcileWanted_;
  if (!was_ || !onlyAsks || state.calls.size() != calls_ + 1) return false;
  const auto found = state.calls.find(id);
  if (found == state.calls.end() || found->second.stage != CallStage::kTaking) return false;
  const auto& groups = found->second.groups;
  const bool alone = std::ranges::all_of(
      groups, [&state](const auto& entry) { return nobodyElseSees(state, entry.second); });
  // A re-offer, of which the question says that it may probe, is none of these events.
  const bool free = std::ranges::none_of(out.questions, &UseQuestion::probe);
  const bool binds =
      std::ranges::any_of(groups, [](const auto& entry) { return entry.second.bind; });
  if (!alone || !free || binds || state.tellAllocated) return false;
  for (const auto& [group, take] : groups) {
    withdrawRepresentatives(state, take);
    const auto note = std::pair(group, lineOf(found->second, take));
    if (state.told.insert(note).second) turn.out.alsoAllocated.insert(note);
  }
  return true;
}

bool FastPath::staysAfterRefusal(const Turn& turn, CallId id) const {
  const LedgerState& state = turn.state;
  const Effects& out = turn.out;
  const bool same = was_ && state.calls.size() == calls_ && state.records.size() == records_ &&
                    state.marks.size() == marks_ && state.reconcile.wanted == reconcileWanted_ &&
                    !state.tellAllocated;
  const bool refused = out.answers.size() == 1 && out.answers.front().call == id &&
                       out.answers.front().refusal && out.journal.size() == 1;
  if (!same || !refused) return false;
  Effects rest = out;
  rest.answers.clear();
  rest.journal.clear();
  return rest == Effects{};
}

bool FastPath::staysAfterReading(Turn& turn, CallId id) const {
  LedgerState& state = turn.state;
  const Effects& out = turn.out;
  if (!was_ || state.marks.size() != marks_ || state.reconcile.wanted != reconcileWanted_)
    return false;
  const bool asks = !out.questions.empty() || !out.binds.empty() || !out.specsToWrite.empty();
  if (asks || out.beginReconcile) return false;
  if (out.answers.empty()) return out.journal.empty() && state.calls.contains(id);
  const std::size_t allocated = state.records.size() - records_;
  const bool granted = out.answers.size() == 1 && out.answers.front().call == id &&
                       out.answers.front().response && state.calls.size() + 1 == calls_;
  if (!granted || allocated == 0 || out.journal.size() != allocated) return false;
  for (std::size_t i = records_; i < state.records.size(); ++i) {
    const HolderRecord& record = state.records[i];
    const bool whole = record.members == groupMembers(state.hardware.snapshot, *record.ids.begin());
    if (!whole || !bring(state, reconcileDueFor(state, record), turn.now.instant)) return false;
  }
  return bring(state, listDue(state), turn.now.instant);
}

void rememberFastPath(LedgerState& state, std::optional<Instant> due) {
  state.fastUntil.reset();
  const bool open = state.begun && state.adopted && state.privdThere && !state.allocationClosed;
  const bool plain = std::ranges::all_of(
      state.calls, [](const auto& entry) { return waitsForReadings(entry.second); });
  if (open && (state.calls.empty() || (plain && !someDeviceIsLost(state))))
    state.fastUntil = due.value_or(Instant::max());
}

}  // namespace vfiogate
