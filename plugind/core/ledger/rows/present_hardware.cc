#include "plugind/core/ledger/rows/rows.h"

#include <algorithm>

#include "plugind/core/ledger/state/fingerprint.h"

namespace vfiogate {
namespace {

bool areAnswered(const std::map<IommuGroupId, std::optional<GroupReading>>& checks) {
  return std::ranges::all_of(checks, [](const auto& check) { return check.second.has_value(); });
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

}  // namespace vfiogate
