#include "plugind/core/ledger/ledger.h"

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/restored.h"
#include "plugind/core/ledger/rows/fast_path.h"
#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

void tellAllocated(Turn& turn) {
  LedgerState& state = turn.state;
  // Before step 1 of adoption nothing is known that could take the place of privd's record.
  if (!state.privdThere || !state.begun) return;
  auto allocated = notesOf(state);
  if (allocated == state.told && !state.tellAllocated) return;
  state.tellAllocated = false;
  state.told = allocated;
  turn.out.allocated = std::move(allocated);
}

/// What follows from every event, and from time alone.
void finish(Turn& turn) {
  LedgerState& state = turn.state;
  expireCalls(turn);
  if (state.awaySince && turn.now.instant - *state.awaySince >= state.settings.grace) {
    closeAllocation(state);  // row 48
  }
  markForeign(turn, false);  // row 31
  settleReleases(turn);      // rows 25 to 30
  askUse(turn);
  beginDueReconcile(turn);
  endRests(turn);
  makeFrames(turn);
  adoptWithoutFrames(turn);
  keepDraUnits(turn);
  endEmpty(turn);
  tellAllocated(turn);
}

void nameSpecs(Turn& turn, const std::vector<PrepareRequest>& specs) {
  for (const PrepareRequest& spec : specs) {
    for (const auto& [resource, ids] : spec.devices) {
      name(turn, {.resource = resource,
                  .ids = ids,
                  .podUid = std::nullopt,
                  .podName = std::nullopt,
                  .claim = spec.claim,
                  .written = std::nullopt,
                  .asked = std::nullopt,
                  .sets = setsAmong(turn.state, resource, ids)});
    }
  }
}

/// What the plugind before us had shown stands, Unhealthy, until the 60 s rule ends it.
void showRegistered(Turn& turn, const CheckpointVersion& version) {
  for (const auto& [text, ids] : version.registered) {
    const auto resource = ResourceName::parse(text);
    if (!resource) continue;
    showMoved(turn.state, *resource);
    if (!servedByPlugin(turn.state.catalog, *resource)) continue;
    for (const std::string& id : ids) {
      if (!unitNamed(turn.state, id) && unitsOfSet(turn.state, *resource, id).empty()) continue;
      turn.state.shown[*resource].devices.try_emplace(
          id, ShownDevice{{id, false, std::nullopt}, turn.now.instant});
    }
  }
}

}  // namespace

Ledger::Ledger(LedgerSettings settings) {
  state_.settings = settings;
}

Effects Ledger::handle(const Moment& now, const std::function<void(Turn&)>& act,
                       const Worked& worked) {
  Effects out;
  Turn turn{state_, now, out};
  act(turn);
  const bool fastPath = worked && worked(turn);
  if (!fastPath) finish(turn);
  state_.lastEvent = now.instant;
  if (!fastPath) rememberFastPath(state_, dueBesideCalls());
  return out;
}

Effects Ledger::hardwareSeen(HardwareFacts facts, ResourceCatalog catalog, const Moment& now) {
  return handle(now, [&](Turn& turn) { foldHardware(turn, std::move(facts), std::move(catalog)); });
}

Effects Ledger::reconfigured(LedgerSettings settings, ResourceCatalog catalog, StaticSpecs specs,
                             const Moment& now) {
  return handle(now, [&](Turn& turn) {
    turn.state.settings = settings;
    turn.state.catalog = std::move(catalog);
    turn.state.hardware.specs = std::move(specs);
    readAgain(turn);
    tellOffers(turn, false);
  });
}

Effects Ledger::specsSeen(StaticSpecs specs, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    turn.state.hardware.specs = std::move(specs);
    tellOffers(turn, false);
  });
}

Effects Ledger::privdWent(const Moment& now) {
  return handle(now, [](Turn& turn) { losePrivd(turn); });
}

Effects Ledger::groupRead(IommuGroupId group, const GroupReading& reading,
                          std::optional<CallId> call, const Moment& now) {
  const FastPath fastPath(state_, now.instant);
  const auto worked = [&](Turn& turn) { return call && fastPath.staysAfterReading(turn, *call); };
  const auto read = [&](Turn& turn) {
    foldReading(turn, reading);
    if (!call) return;
    const auto found = state_.calls.find(*call);
    if (found == state_.calls.end()) return;
    if (found->second.stage == CallStage::kChecking) {
      if (noteCheck(found->second, group, reading)) judgeAnew(turn, *call);
      return;
    }
    if (found->second.stage != CallStage::kTaking) return;
    const auto take = found->second.groups.find(group);
    if (take == found->second.groups.end()) return;
    take->second.reading = reading;
    beginBind(turn, found->second, group);
    const bool all = std::ranges::all_of(
        found->second.groups, [](const auto& entry) { return entry.second.reading.has_value(); });
    if (all) settleCall(turn, *call);
  };
  return handle(now, read, worked);
}

Effects Ledger::bindEnded(IommuGroupId group, const BindOutcome& outcome, const Moment& now) {
  return handle(now, [&](Turn& turn) { endBind(turn, group, outcome); });
}

Effects Ledger::returnEnded(IommuGroupId group, const BindOutcome& outcome, const Moment& now) {
  return handle(now, [&](Turn& turn) { endReturn(turn, group, outcome); });
}

Effects Ledger::kubeletSeen(const KubeletIdentity& kubelet, const Moment& now) {
  return handle(now, [&](Turn& turn) { changeEpoch(turn, kubelet); });
}

Effects Ledger::begin(const StartMemory& memory, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    if (state_.begun || !state_.privdThere || !state_.hardwareKnown) return;
    if (state_.settings.remembers && !memory.version && !memory.list) return;
    if (memory.recorded) restoreSuspicions(state_, *memory.recorded);
    if (memory.version) {
      showRegistered(turn, *memory.version);
      const bool ours = keepVersion(state_, *memory.version);
      noteForeignIds(turn, *memory.version, ours);
      for (KubeletEntry naming : entriesOf(state_, *memory.version)) {
        naming.epochsAgo = ours ? 0 : 1;
        name(turn, naming);
      }
      if (!ours) noteInherited(state_);
    }
    state_.noCheckpoint = memory.noCheckpoint;
    nameSpecs(turn, memory.specs);
    if (memory.list) readList(turn, *memory.list, now.instant);
    if (memory.recorded)
      restoreAllocations(turn, *memory.recorded, memory.list ? &*memory.list : nullptr);
    state_.begun = true;
    tellOffers(turn, false);
    markForeign(turn, true);
    if (!state_.settings.remembers) adopt(turn);
    if (memory.recorded) adoptByRecord(turn, *memory.recorded);
  });
}

Effects Ledger::versionRead(const CheckpointVersion& version, bool inReconcile, const Moment& now,
                            std::optional<Instant> asked) {
  return handle(now, [&](Turn& turn) {
    if (state_.begun) readVersion(turn, version, inReconcile && state_.reconcile.running, asked);
  });
}

Effects Ledger::listRead(const PodList& list, Instant asked, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    if (state_.begun) readList(turn, list, asked);
  });
}

Effects Ledger::reconcileEnded(bool proved, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    if (state_.reconcile.running) endReconcile(turn, proved);
  });
}

Effects Ledger::tick(const Moment& now) {
  return handle(now, [](Turn& /*turn*/) {});
}

std::map<ResourceName, Frame> Ledger::frames() const {
  std::map<ResourceName, Frame> frames;
  for (const auto& [resource, shown] : state_.shown) frames.emplace(resource, frameOf(shown));
  return frames;
}

Holding Ledger::holding(const UnitId& address) const {
  return holdingOf(state_, groupMembers(state_.hardware.snapshot, address));
}

Effects Ledger::specWritten(CallId id, bool written, const Moment& now) {
  return handle(now, [&](Turn& turn) {
    const auto call = state_.calls.find(id);
    if (call == state_.calls.end() || call->second.stage != CallStage::kWaitsSpec) return;
    endWriting(turn, id, written);
  });
}

Effects Ledger::specUnlinked(const std::string& claimUid, bool unlinked, const Moment& now) {
  return handle(now, [&](Turn& turn) { endUnlinking(turn, claimUid, unlinked); });
}

Effects Ledger::claimChecked(const std::string& claimUid, bool ours, const Moment& now) {
  return handle(now, [&](Turn& turn) { checkClaim(turn, claimUid, ours); });
}

}  // namespace vfiogate
