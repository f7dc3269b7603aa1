#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/more_tickets.h"

namespace vfiogate {
namespace {

bool isKept(const Occupancy& occupancy, const ResourceName& resource, const UnitId& id) {
  const auto kept = occupancy.kept.find(resource);
  return kept != occupancy.kept.end() && kept->second.contains(id);
}

/// The same of whatever an id of the frame stands for.
bool isKept(const Occupancy& occupancy, const ResourceName& resource, const std::string& id) {
  if (const auto unit = UnitId::parse(id)) return isKept(occupancy, resource, *unit);
  const auto kept = occupancy.keptSets.find(resource);
  return kept != occupancy.keptSets.end() && kept->second.contains(id);
}

/// Health by the table of ledger.md 8: the first row that matches counts.
bool isHealthy(const LedgerState& state, const Occupancy& occupancy, const ResourceName& resource,
               const UnitId& id, bool advertised) {
  if (!answers(state.hardware.snapshot, id)) return false;
  if (isKept(occupancy, resource, id)) return true;
  if (state.allocationClosed || !advertised) return false;
  if (isEngaged(state, occupancy, id) || isPfAllocated(state, occupancy, id)) return false;
  if (!state.suspected.empty() && suspectedIn(state, reachOf(state, {id})) != nullptr) return false;
  const auto handed = handedOver(state.hardware, state.catalog, resource, {id});
  if (std::ranges::any_of(handed, [&](const UnitId& each) { return isResting(state, each); })) {
    return false;
  }
  return allocatable(
      judgeReadiness(state.hardware, resource, handed, allocationOf(state, resource)));
}

/// Every id that has a reason to be in the resource's frame; true: it is advertised.
std::map<std::string, bool> wantedIn(const LedgerState& state, const ResourceName& resource,
                                     const std::set<UnitId>& advertised) {
  std::map<std::string, bool> wanted;
  for (const UnitId& id : advertised) wanted.emplace_hint(wanted.end(), id.str(), true);
  for (const HolderRecord& record : state.records) {
    if (record.isClaim() || record.resource != resource) continue;
    if (!record.set.empty()) {
      wanted.emplace(record.set, false);
      continue;
    }
    for (const auto* ids : {&record.ids, &record.rest}) {
      for (const UnitId& id : *ids) wanted.emplace(id.str(), false);
    }
  }
  const auto configured = state.catalog.resources.find(resource);
  if (configured != state.catalog.resources.end() && servesPlugin(configured->second.allocation)) {
    for (const auto& [id, units] : configured->second.sets) wanted.insert_or_assign(id, true);
  }
  const auto shown = state.shown.find(resource);
  for (const auto& [callId, call] : state.calls) {
    if (call.kind != CallKind::kAllocate || call.allocate.resource != resource) continue;
    for (const std::string& id : call.allocate.ids) {
      // Ids are the kubelet's: only what was shown is worth keeping.
      const bool known = shown != state.shown.end() && shown->second.devices.contains(id);
      if (known) wanted.emplace(id, false);
    }
  }
  for (const std::string& id : ticketsWanted(state, resource)) wanted.emplace(id, true);
  for (const std::string& id : ticketsHeld(state, resource)) wanted.emplace(id, false);
  return wanted;
}

/// Looks up ascending ids one after the other, as two lists of thousands are compared.
class WantedWalk {
public:
  explicit WantedWalk(const std::map<std::string, bool>& wanted)
      : at_(wanted.begin()), end_(wanted.end()) {}

  /// Null: not wanted; otherwise as wantedIn() says.
  const bool* find(const std::string& id) {
    while (at_ != end_ && at_->first < id) ++at_;
    return at_ != end_ && at_->first == id ? &at_->second : nullptr;
  }

private:
  std::map<std::string, bool>::const_iterator at_;
  std::map<std::string, bool>::const_iterator end_;
};

/// An Allocate of the resource runs: nothing may leave.
bool isAllocating(const LedgerState& state, const ResourceName& resource) {
  return std::ranges::any_of(state.calls, [&resource](const auto& entry) {
    return entry.second.kind == CallKind::kAllocate && entry.second.allocate.resource == resource;
  });
}

/// True if the frame changes.
bool keepLost(const Turn& turn, const ResourceName& resource, ShownResource& shown,
              const std::map<std::string, bool>& wanted) {
  const std::size_t before = shown.devices.size();
  const bool allocating = isAllocating(turn.state, resource);
  WantedWalk walk(wanted);
  for (auto entry = shown.devices.begin(); entry != shown.devices.end();) {
    auto& [id, device] = *entry;
    if (walk.find(id) != nullptr) {
      device.lostAt.reset();
    } else if (!device.lostAt) {
      device.lostAt = turn.now.instant;
    }
    const bool over =
        device.lostAt && turn.now.instant - *device.lostAt >= timing::kFrameStay && !allocating;
    if (!over) {
      ++entry;
      continue;
    }
    shown.left.insert_or_assign(id, turn.now.instant);
    entry = shown.devices.erase(entry);
  }
  return shown.devices.size() != before;
}

/// True if the frame changes.
bool showWanted(const Turn& turn, const Occupancy& occupancy, const ResourceName& resource,
                ShownResource& shown, const std::map<std::string, bool>& wanted) {
  bool changed = false;
  std::erase_if(shown.left, [&turn](const auto& entry) {
    return turn.now.instant - entry.second >= timing::kFrameReturn;
  });
  for (const auto& [id, advertised] : wanted) {
    if (shown.left.contains(id) && !isKept(occupancy, resource, id)) continue;  // 10 s rule
    const auto [entry, isNew] = shown.devices.try_emplace(id);
    if (isNew) entry->second.device.id = id;
    changed |= isNew;
  }
  WantedWalk walk(wanted);
  for (auto& [id, device] : shown.devices) {
    if (isTicket(id)) {
      const bool healthy = isTicketHealthy(turn.state, resource, id);
      changed |= std::exchange(device.device.healthy, healthy) != healthy;
      continue;
    }
    if (isSetId(id)) {
      const bool healthy = isSetHealthy(turn.state, occupancy, resource, id);
      changed |= std::exchange(device.device.healthy, healthy) != healthy;
      const auto numaNode =
          commonNumaNode(turn.state.hardware.snapshot, unitsOfSet(turn.state, resource, id));
      if (numaNode) changed |= std::exchange(device.device.numaNode, numaNode) != numaNode;
      continue;
    }
    const UnitId address = *UnitId::parse(id);
    const bool* entry = walk.find(id);
    const bool advertised = entry != nullptr && *entry;
    const bool healthy = isHealthy(turn.state, occupancy, resource, address, advertised);
    changed |= std::exchange(device.device.healthy, healthy) != healthy;
    // Of a device that is gone the last word stands, so that only its health changes.
    if (isPresent(turn.state.hardware.snapshot, address)) {
      const auto numaNode = numaNodeOf(turn.state.hardware.snapshot, address);
      changed |= std::exchange(device.device.numaNode, numaNode) != numaNode;
    }
  }
  return changed;
}

/// Those of tickets last: they follow what the others show.
std::vector<ResourceName> resourcesOf(const LedgerState& state) {
  std::set<ResourceName> names;
  for (const auto& [name, devices] : state.catalog.resources) {
    if (servesPlugin(devices.allocation)) names.insert(name);
  }
  for (const auto& [name, shown] : state.shown) names.insert(name);
  for (const HolderRecord& record : state.records) {
    if (!record.isClaim()) names.insert(record.resource);
  }
  names.merge(shownToListen(state));
  const std::set<ResourceName> tickets = ticketResources(state.catalog);
  std::vector<ResourceName> ordered;
  std::ranges::set_difference(names, tickets, std::back_inserter(ordered));
  ordered.insert(ordered.end(), tickets.begin(), tickets.end());
  return ordered;
}

}  // namespace

Frame frameOf(const ShownResource& shown) {
  Frame frame;
  for (const auto& [id, device] : shown.devices) frame.devices.push_back(device.device);
  return frame;
}

void makeFrames(Turn& turn) {
  LedgerState& state = turn.state;
  if (!state.begun) return;
  const Occupancy occupancy = occupancyOf(state);
  for (const ResourceName& resource : resourcesOf(state)) {
    ShownResource& shown = state.shown[resource];
    std::set<UnitId> advertised = advertisedIn(state, occupancy, resource);
    const auto wanted = wantedIn(state, resource, advertised);
    shown.representatives = std::move(advertised);
    bool changed = keepLost(turn, resource, shown, wanted);
    changed |= showWanted(turn, occupancy, resource, shown, wanted);
    if (!shown.sent || changed) turn.out.frames.insert_or_assign(resource, frameOf(shown));
    shown.sent = true;
  }
  if (!state.firstFrame) state.firstFrame = turn.now.instant;
}

std::optional<Instant> framesDue(const LedgerState& state) {
  std::optional<Instant> due;
  const auto bring = [&due](Instant candidate) {
    if (!due || candidate < *due) due = candidate;
  };
  for (const auto& [resource, shown] : state.shown) {
    const bool allocating = isAllocating(state, resource);
    for (const auto& [id, device] : shown.devices) {
      if (device.lostAt && !allocating) bring(*device.lostAt + timing::kFrameStay);
    }
    for (const auto& [id, left] : shown.left) bring(left + timing::kFrameReturn);
  }
  return due;
}

}  // namespace vfiogate
