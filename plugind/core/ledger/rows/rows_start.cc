// Rows 36 to 41: PreStartContainer.

#include <algorithm>
#include <utility>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// By unit, the set that it is started with; empty: by itself.
std::map<UnitId, std::string> parsed(const LedgerState& state, const ResourceName& resource,
                                     const std::vector<std::string>& texts) {
  std::map<UnitId, std::string> ids;
  for (const std::string& text : texts) {
    if (const auto id = UnitId::parse(text)) ids.emplace(*id, "");
  }
  ids.merge(setsNamed(state, resource, {texts.begin(), texts.end()}));
  return ids;
}

/// Row 38: what of `rest` the kubelet starts is no leftover.
void joinRest(LedgerState& state, const ResourceName& resource, const std::set<UnitId>& ids) {
  for (HolderRecord& record : state.records) {
    if (record.isClaim() || record.resource != resource) continue;
    for (const UnitId& id : ids) {
      if (record.rest.erase(id) > 0) record.ids.insert(id);
    }
  }
}

/// What a version of the kubelet's memory has as the fingerprint of these devices.
std::optional<std::string> rememberedFingerprint(const std::optional<CheckpointVersion>& version,
                                                 const PreStartRequest& request) {
  if (!version) return std::nullopt;
  const std::set<std::string> ids(request.ids.begin(), request.ids.end());
  for (const RecordedDevices& entry : version->entries) {
    const bool same = entry.resource == request.resource.str() && entry.ids == ids;
    if (same && entry.allocated) return entry.allocated;
  }
  return std::nullopt;
}

/// What this process answered, which the kubelet may not have recorded yet: there is a record for
/// each group. Null: not all of it is known.
std::optional<std::string> answeredFingerprint(const LedgerState& state,
                                               const ResourceName& resource,
                                               const std::set<UnitId>& ids) {
  std::string text;
  for (const std::size_t index : recordsMeeting(state, ids)) {
    const HolderRecord& record = state.records[index];
    if (record.resource != resource) continue;
    text += fingerprintPart(record.fingerprint, ids) + alongIn(record.fingerprint);
  }
  if (!std::ranges::includes(devicesIn(text), ids)) return std::nullopt;
  return text;
}

/// A version that speaks of an earlier grant of these devices: its reader is behind.
bool precedesAnswer(const LedgerState& state, const CheckpointVersion& version,
                    const std::set<UnitId>& ids) {
  return std::ranges::any_of(recordsMeeting(state, ids), [&](const std::size_t index) {
    return version.written < state.records[index].answeredWall;
  });
}

/// What its pod was given, by the most reliable source.
std::optional<std::string> allocatedFingerprint(const LedgerState& state,
                                                const PreStartRequest& request,
                                                const std::set<UnitId>& ids) {
  const auto remembered = rememberedFingerprint(state.version, request);
  if (remembered && !precedesAnswer(state, *state.version, ids)) return remembered;
  if (auto answered = answeredFingerprint(state, request.resource, ids)) return answered;
  return remembered ? remembered : rememberedFingerprint(state.inherited, request);
}

/// Of `ids` and of all that was handed over with them.
bool haveMoved(const std::string& allocated, const std::set<UnitId>& ids,
               const HardwareFacts& present) {
  const std::string given = withoutLost(allocated, present);
  std::set<UnitId> devices = devicesIn(given);
  devices.insert(ids.begin(), ids.end());
  return compareFingerprints(given, fingerprintOf(present, devices)) != Sameness::kSame;
}

/// Section 9: whether the container finds what is there, through what it was given. Null: it does.
std::optional<Refusal> refuseStale(const LedgerState& state, const PreStartRequest& request,
                                   const std::set<UnitId>& ids,
                                   const std::optional<std::string>& allocated,
                                   const HardwareFacts& present) {
  const RefusedDevice device{*ids.begin(), groupNumber(state, ids)};
  // Not what the configuration says by now: nodes that were given stay nodes.
  const bool cdi =
      allocated ? isByName(*allocated) : allocationOf(state, request.resource).injectCdi;
  if (allocated && !cdi && haveMoved(*allocated, ids, present)) {
    return refuse(device, "its nodes have other numbers than its pod was given: delete this pod",
                  "stale-nodes");
  }
  if (cdi) {
    const auto bar = barFromSpecs(state.hardware, state.catalog, request.resource, ids);
    if (!bar) return std::nullopt;
    return refuseBarred(device, *bar);
  }
  const bool adoptedOpen = useOf(state, reachOf(state, ids)).use == GroupUse::kOpen;
  if (allocated || adoptedOpen) return std::nullopt;
  return refuse(device, "not known which nodes its pod was given: delete this pod", "stale-nodes");
}

/// Rows 37 and 40 of one group. Null: a record of R is there.
std::optional<Refusal> refuseParty(const LedgerState& state, const Call& call,
                                   const std::set<UnitId>& ids, Holding before, bool mine) {
  const RefusedDevice device{*ids.begin(), groupNumber(state, ids)};
  const Take* take = takeMeeting(state, reachOf(state, ids));
  if (before == Holding::kTaking && take != nullptr) return refuseTaken(device, *take, call);
  if (before == Holding::kReturning) {
    return refuse(device, "going back to its host driver", "returning");
  }
  if (mine || !isHeld(before)) return std::nullopt;
  std::vector<std::size_t> others;
  for (const std::size_t index : recordsMeeting(state, reachOf(state, ids))) {
    const HolderRecord& record = state.records[index];
    const bool one = record.resource == call.allocate.resource && meet(record.ids, ids);
    if (!one) others.push_back(index);
  }
  const bool byClaim = !others.empty() && state.records[others.front()].isClaim();
  return refuseHeld(state, device,
                    std::string("held by another party") + (byClaim ? " through DRA" : ""),
                    "held-by-other", others);
}

bool hasRecord(const LedgerState& state, const ResourceName& resource,
               const std::set<UnitId>& ids) {
  return std::ranges::any_of(state.records, [&](const HolderRecord& record) {
    return !record.isClaim() && record.resource == resource &&
           (meet(record.ids, ids) || meet(record.rest, ids));
  });
}

enum class Viable : std::uint8_t { kYes, kWaits, kRefused };

/// V of row 38: bindable is bound now, a bind that runs is waited for.
Viable viableOf(Turn& turn, Call& call, const std::set<UnitId>& ids) {
  LedgerState& state = turn.state;
  const AllocationSettings allocation = allocationOf(state, call.allocate.resource);
  const auto handed = handedOver(state.hardware, state.catalog, call.allocate.resource, ids);
  const GroupReadiness readiness =
      judgeHardware(state.hardware, handed, allocation, HeldBy::kWhoAsks);
  if (readiness.readiness == Readiness::kReady) return Viable::kYes;
  const RefusedDevice device{*ids.begin(), groupNumber(state, ids)};
  if (!allocatable(readiness) && readiness.readiness != Readiness::kBinding) {
    refuseCall(turn, call.id, refuseBarred(device, readiness.bar));
    return Viable::kRefused;
  }
  if (readiness.readiness == Readiness::kBindable && device.group &&
      call.bindsAsked.emplace(*device.group, device.address).second) {
    turn.out.binds.push_back(*device.group);
  }
  return Viable::kWaits;
}

/// Row 38 of all groups. False: it waits, or was refused (row 39).
bool areViable(Turn& turn, Call& call, const std::map<std::set<UnitId>, std::set<UnitId>>& groups) {
  bool waits = false;
  for (const auto& [members, ids] : groups) {
    const Viable viable = viableOf(turn, call, ids);
    if (viable == Viable::kRefused) return false;
    waits = waits || viable == Viable::kWaits;
  }
  if (waits) call.stage = CallStage::kWaitsBind;
  return !waits;
}

}  // namespace

void judgeStart(Turn& turn, CallId id) {
  LedgerState& state = turn.state;
  Call& call = state.calls.at(id);
  if (!state.privdThere || !state.hardwareKnown) {  // row 36
    call.stage = CallStage::kWaitsPrivd;
    return;
  }
  const ResourceName resource = call.allocate.resource;
  auto sets = parsed(state, resource, call.allocate.ids);
  std::set<UnitId> all;
  for (const auto& [unit, set] : sets) all.insert(unit);
  std::erase_if(sets, [](const auto& entry) { return entry.second.empty(); });
  if (all.empty()) {
    return refuseCall(turn, id, refuseNotShown("", resource));
  }
  std::map<std::set<UnitId>, std::set<UnitId>> groups;  // by members
  for (const UnitId& one : all) groups[reachOf(state, {one})].insert(one);
  std::optional<Refusal> refusal;
  std::vector<std::pair<Holding, bool>> before;
  for (const auto& [members, ids] : groups) {
    before.emplace_back(holdingOf(state, members), hasRecord(state, resource, ids));
  }
  joinRest(state, resource, all);
  // It counts as named, refused or not (F-D): rows 19 to 23, 41.
  name(turn, {.resource = resource,
              .ids = all,
              .podUid = std::nullopt,
              .podName = std::nullopt,
              .claim = std::nullopt,
              .written = std::nullopt,
              .asked = std::nullopt,
              .sets = sets});
  auto entry = before.begin();
  for (const auto& [members, ids] : groups) {
    auto one = refuseParty(state, call, ids, entry->first, entry->second);
    if (one && !refusal) refusal = std::move(one);
    ++entry;
  }
  if (refusal) return refuseCall(turn, id, *refusal);
  if (!isChecked(turn, id, all)) return;
  const HardwareFacts present = checkedHardware(state, call);
  const PreStartRequest request{resource, call.allocate.ids};
  const auto allocated = allocatedFingerprint(state, request, all);
  refusal = refuseUnchecked(state, call);
  if (!refusal && allocated) refusal = refuseOther(present, *allocated, "allocated");  // row 39
  if (!refusal) refusal = refuseOther(present, fingerprintOf(state.hardware, all), "offered");
  if (refusal) return refuseCall(turn, id, *refusal);
  if (!areViable(turn, call, groups)) return;
  if (!call.bindsAsked.empty() && !std::exchange(call.checkedBound, true)) {
    call.checks.clear();  // a bind changed the numbers
    if (!isChecked(turn, id, all)) return;
  }
  if (auto stale = refuseStale(state, request, all, allocated, present)) {  // row 39
    // The kubelet may have written this moment what it was given.
    const bool mayBeWritten = !allocated && stale->reason == "stale-nodes" && !call.reconcileMade &&
                              state.settings.remembers;
    if (!mayBeWritten) return refuseCall(turn, id, *stale);
    call.stage = CallStage::kWaitsReconcile;
    return reconcileInCall(turn, call);
  }
  for (HolderRecord& record : state.records) {  // row 38
    if (record.isClaim() || record.resource != resource || !meet(record.ids, all)) continue;
    record.preStartAt = turn.now.instant;
    const UseTrack use = useOf(state, reachOf(state, record.members));
    record.openedSincePreStart = use.use == GroupUse::kOpen;
    turn.out.journal.push_back(journalEvent(turn, record, "started"));
  }
  endCall(turn, id);
}

}  // namespace vfiogate
