#include "plugind/core/ledger/hardware_facts.h"

namespace vfiogate {
namespace {

std::optional<IommuGroupId> groupOf(const Snapshot& snapshot, const Bdf& address) {
  const auto device = snapshot.devices.find(address);
  return device == snapshot.devices.end() ? std::nullopt : device->second.group;
}

bool anyIn(const std::set<IommuGroupId>& groups, const HardwareFacts& facts,
           const std::set<Bdf>& ids) {
  if (groups.empty()) return false;  // as nearly always
  for (const Bdf& id : ids) {
    const auto group = groupOf(facts.snapshot, id);
    if (group && groups.contains(*group)) return true;
  }
  return false;
}

}  // namespace

GroupReadiness judgeHardware(const HardwareFacts& facts, const std::set<Bdf>& ids,
                             const LendingSettings& lending) {
  if (anyIn(facts.operatorHeld, facts, ids)) {
    return {Readiness::kBad, {"operator-hold", "held back by an operator: privd release"}};
  }
  if (anyIn(facts.binding, facts, ids)) {
    return {Readiness::kBinding, {"binding", "a bind of its group still runs"}};
  }
  const auto bar = barTo(facts.snapshot, ids, lending.backend);
  if (!bar) return {};
  if (bar->reason == "gone") return {Readiness::kGone, *bar};
  const bool bindable = lending.onAllocate && anyIn(facts.bindable, facts, ids);
  return {bindable ? Readiness::kBindable : Readiness::kBad, *bar};
}

GroupReadiness judgeReadiness(const HardwareFacts& facts, const ResourceName& resource,
                              const std::set<Bdf>& ids, const LendingSettings& lending) {
  const GroupReadiness judged = judgeHardware(facts, ids, lending);
  if (judged.readiness != Readiness::kReady || !needsSpec(lending)) return judged;
  for (const Bdf& id : ids) {
    if (auto bar = barFromSpec(facts.specs, resource, id)) return {Readiness::kBad, *bar};
  }
  return judged;
}

bool lendable(const GroupReadiness& readiness) {
  return readiness.readiness == Readiness::kReady || readiness.readiness == Readiness::kBindable;
}

}  // namespace vfiogate
