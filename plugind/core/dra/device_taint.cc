#include "plugind/core/dra/pool_of.h"

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/state/physical_functions.h"

namespace vfiogate {
namespace {

/// The group of a device, or what it was when it was allocated: it may be gone.
std::set<UnitId> membersAround(const LedgerState& state, const UnitId& address) {
  std::set<UnitId> members{address};
  for (const HolderRecord& record : state.records) {
    if (record.members.contains(address)) {
      members.insert(record.members.begin(), record.members.end());
    }
  }
  return reachOf(state, members);
}

/// When hardware or configuration began to stand against it.
std::chrono::sys_seconds sinceTold(const LedgerState& state, const UnitId& address) {
  const auto track = state.offers.find(address);
  return track == state.offers.end() ? std::chrono::sys_seconds{} : track->second.toldAt;
}

/// By who has the group. Null: nobody; or a claim, which `claimed` then says.
std::optional<Unavailable> byHolding(const LedgerState& state, const UnitId& address,
                                     bool& claimed) {
  const std::set<UnitId> members = membersAround(state, address);
  std::optional<Unavailable> lingering;
  for (const std::size_t index : recordsMeeting(state, members)) {
    const HolderRecord& record = state.records[index];
    if (record.state == HolderState::kLingering) {
      lingering = {"lingering", record.answeredAt};
    } else if (!record.isClaim()) {
      return Unavailable{"allocated", record.answeredAt};
    } else {
      claimed = true;
    }
  }
  if (lingering) return lingering;
  for (const Holding holding : {Holding::kReturning, Holding::kForeign}) {
    const GroupMark* mark = markMeeting(state, members, holding);
    if (mark == nullptr) continue;
    return Unavailable{holding == Holding::kForeign ? "foreign" : "returning", mark->sinceWall};
  }
  const Take* take = takeMeeting(state, members);
  if (take == nullptr) return std::nullopt;
  claimed = claimed || take->forClaim;
  if (take->forClaim) return std::nullopt;
  return Unavailable{"allocated", take->since};
}

/// By hardware and configuration.
std::optional<Unavailable> byHardware(const LedgerState& state, const ResourceName& resource,
                                      const UnitId& address) {
  const auto handed = handedOver(state.hardware, state.catalog, resource, {address});
  const GroupReadiness judged =
      judgeHardware(state.hardware, handed, allocationOf(state, resource));
  if (!allocatable(judged)) return Unavailable{judged.bar.reason, sinceTold(state, address)};
  for (const UnitId& each : handed) {
    if (!isResting(state, each)) continue;
    return Unavailable{restsUnbound(state, each) ? "bind-failed" : "flapping",
                       sinceTold(state, each)};
  }
  return std::nullopt;
}

}  // namespace

bool isHeldByClaim(const LedgerState& state, const UnitId& address) {
  const std::set<UnitId> members = membersAround(state, address);
  return std::ranges::any_of(recordsMeeting(state, members), [&state](std::size_t index) {
    const HolderRecord& record = state.records[index];
    return record.isClaim() && record.state != HolderState::kLingering;
  });
}

std::optional<Unavailable> unavailability(const LedgerState& state, const Occupancy& occupancy,
                                          const ResourceName& resource, const UnitId& address) {
  if (!isPresent(state.hardware.snapshot, address)) {
    return Unavailable{"gone", sinceTold(state, address)};
  }
  bool claimed = false;
  if (isEngaged(state, occupancy, address)) {
    if (auto held = byHolding(state, address, claimed)) return held;
  }
  if (claimed) return std::nullopt;
  if (isPfAllocated(state, occupancy, address)) {
    const auto physical =
        allocatedPhysicalFunction(state, groupMembers(state.hardware.snapshot, address));
    return Unavailable{physical->bar.reason, physical->since};
  }
  if (!state.begun) return Unavailable{"not-adopted", sinceTold(state, address)};
  if (state.allocationClosed) return Unavailable{"privd-away", state.awayAt};
  return byHardware(state, resource, address);
}

}  // namespace vfiogate
