#include "plugind/core/ledger/rows/rows.h"

#include <algorithm>

#include "plugind/core/ledger/state/fingerprint.h"

namespace vfiogate {
namespace {

bool areAnswered(const std::map<IommuGroupId, std::optional<GroupReading>>& checks) {
  return std::ranges::all_of(checks, [](const auto& check) { return check.second.has_value(); });
}

/// What a version of the kubelet's memory has as the fingerprint of a device that the record's pod
/// has; empty: nothing.
std::string rememberedPart(const std::optional<CheckpointVersion>& version,
                           const HolderRecord& record, const UnitId& id) {
  if (!version) return {};
  for (const RecordedDevices& entry : version->entries) {
    const bool others = record.podUid && entry.podUid != *record.podUid;
    if (others || !entry.allocated || entry.resource != record.resource.str()) continue;
    std::string part = fingerprintPart(*entry.allocated, {id});
    if (!part.empty()) return part;
  }
  return {};
}

/// What this process answered, or else what the kubelet remembers of an answer.
std::string allocatedPart(const LedgerState& state, const HolderRecord& record, const UnitId& id) {
  std::string part = fingerprintPart(record.fingerprint, {id});
  if (part.empty()) part = rememberedPart(state.version, record, id);
  return part.empty() ? rememberedPart(state.inherited, record, id) : part;
}

}  // namespace

bool isChecked(Turn& turn, CallId id, const std::set<UnitId>& ids) {
  Call& call = turn.state.calls.at(id);
  for (const UnitId& device : ids) {
    const auto group = groupNumber(turn.state, {device});
    if (!group || !call.checks.try_emplace(*group).second) continue;
    turn.out.questions.push_back({*group, id, false});
  }
  if (areAnswered(call.checks)) return true;
  call.stage = CallStage::kChecking;
  return false;
}

bool noteCheck(Call& call, IommuGroupId group, const GroupReading& reading) {
  const auto check = call.checks.find(group);
  if (check == call.checks.end()) return false;
  if (reading.answer == GroupReading::Answer::kPrivdAway) {  // asked again when it is back
    call.checks.clear();
    call.stage = CallStage::kWaitsPrivd;
    return false;
  }
  check->second = reading;
  return areAnswered(call.checks);
}

HardwareFacts checkedHardware(const LedgerState& state, const Call& call) {
  HardwareFacts facts = rereadOf(state.hardware, {});
  for (const auto& [group, reading] : call.checks) {
    if (reading) addGroup(facts, reading->seen);
  }
  return facts;
}

std::optional<Refusal> refuseUnseen(const RefusedDevice& device,
                                    const std::optional<GroupReading>& reading) {
  switch (reading ? reading->answer : GroupReading::Answer::kTimedOut) {
    case GroupReading::Answer::kSeen:
      return std::nullopt;
    case GroupReading::Answer::kVanished:
      return refuse(device, "its group is gone or lost members", "not-viable:gone");
    case GroupReading::Answer::kFailed:
      return refuse(device, "its state could not be read", "cannot-tell");
    case GroupReading::Answer::kTimedOut:
      return refuse(device, "not known in time whether it is in use", "timed-out");
    case GroupReading::Answer::kPrivdAway:
      return refuse(device, "cannot be checked, privd is away", "privd-away");
  }
  return std::nullopt;
}

Refusal refuseUntold(const RefusedDevice& device, GroupUse use, const GroupReading& reading) {
  if (use != GroupUse::kBlind) return refuse(device, "its use cannot be told", "cannot-tell");
  const std::string why =
      reading.probe == GroupReading::Probe::kCannot ? reading.noProbe : "it may not be now";
  return refuse(device,
                "its use cannot be told: mediated devices and vGPUs show none, and its group was "
                "not probed, as " +
                    why,
                "cannot-probe");
}

std::optional<Refusal> refuseUnchecked(const LedgerState& state, const Call& call) {
  for (const auto& [group, reading] : call.checks) {
    const std::set<UnitId> members = unitsOf(state.hardware.snapshot, group);
    if (members.empty()) continue;
    const RefusedDevice device{*members.begin(), group};
    if (auto refusal = refuseUnseen(device, reading)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> refuseOther(const HardwareFacts& present, const std::string& fingerprint,
                                   const std::string& was) {
  const std::string now = fingerprintOf(present, devicesIn(fingerprint));
  const auto other = firstOther(fingerprint, now);
  if (!other) return std::nullopt;
  return refuse({*other, groupOf(present.snapshot, *other)},
                "other hardware than was " + was + " is at its address: was " +
                    hardwareText(fingerprint, *other) + ", is " + hardwareText(now, *other),
                "other-hardware");
}

std::optional<Refusal> refuseReplaced(const LedgerState& state, const HolderRecord& record,
                                      const std::set<UnitId>& ids) {
  for (const UnitId& id : ids) {
    const bool there = isPresent(state.hardware.snapshot, id);
    if (!there || hasDevice(state.catalog, record.resource, id)) continue;
    const std::string allocated = allocatedPart(state, record, id);
    if (auto other = refuseOther(state.hardware, allocated, "allocated")) return other;
    if (!allocated.empty()) continue;
    return refuse({id, groupNumber(state, {id})},
                  record.resource.str() +
                      " does not have it any more, and nobody knows which hardware was allocated",
                  "not-shown", {record.ref.str()});
  }
  return std::nullopt;
}

}  // namespace vfiogate
