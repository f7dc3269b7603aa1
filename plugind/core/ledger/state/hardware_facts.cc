#include "plugind/core/ledger/state/hardware_facts.h"

#include "ipc/types/binding_change.h"
#include "ipc/types/viability.h"

namespace vfiogate {
namespace {

bool anyIn(const std::set<IommuGroupId>& groups, const HardwareFacts& facts,
           const std::set<UnitId>& ids) {
  if (groups.empty()) return false;  // as nearly always
  for (const UnitId& id : ids) {
    const auto group = groupOf(facts.snapshot, id);
    if (group && groups.contains(*group)) return true;
  }
  return false;
}

/// "users: 0000:01:00.0: module ..." is the guard `users`, and what it saw.
Bar barOfGuard(const std::string& words) {
  return {"guard-" + words.substr(0, words.find(':')), "privd does not bind it: " + words};
}

std::optional<Bar> guardBar(const HardwareFacts& facts, const std::set<UnitId>& ids) {
  if (facts.barred.empty()) return std::nullopt;  // as nearly always
  for (const UnitId& id : ids) {
    const auto group = groupOf(facts.snapshot, id);
    const auto bar = group ? facts.barred.find(*group) : facts.barred.end();
    if (bar == facts.barred.end()) continue;
    return barOfGuard(bar->second);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bar> guardThatRefused(const std::string& why) {
  const auto first = why.find(": ");
  const auto second = first == std::string::npos ? first : why.find(": ", first + 2);
  if (second == std::string::npos || !Bdf::parse(why.substr(0, first))) return std::nullopt;
  const std::string guard = why.substr(first + 2, second - first - 2);
  if (!guardNamed(guard)) return std::nullopt;
  return barOfGuard(guard + ": " + why.substr(0, first) + why.substr(second));
}

HardwareFacts factsOf(const Snapshot& snapshot, bool mayBind) {
  HardwareFacts facts;
  facts.snapshot = snapshot;
  facts.mayBind = mayBind;
  for (const auto& [id, group] : snapshot.groups) {
    const GroupBinding& binding = group.binding;
    if (binding.bindable && mayBind) facts.bindable.insert(id);
    if (!binding.bar.empty() && mayBind) facts.barred.emplace(id, binding.bar);
    if (binding.busy) facts.binding.insert(id);
    if (binding.stuck) facts.stuck.insert(id);
    if (binding.excluded) facts.excluded.insert(id);
    if (binding.boundForAllocation) facts.boundForAllocation.insert(id);
  }
  return facts;
}

GroupReadiness judgeHardware(const HardwareFacts& facts, const std::set<UnitId>& ids,
                             const AllocationSettings& allocation, HeldBy held) {
  const auto barred = [](Obstacle obstacle) {
    return GroupReadiness{Readiness::kBad,
                          {std::string(reasonCode(obstacle)), std::string(obstacleText(obstacle))}};
  };
  if (held == HeldBy::kNobody && anyIn(facts.excluded, facts, ids)) {
    return barred(Obstacle::kOperatorExcluded);
  }
  if (anyIn(facts.stuck, facts, ids)) return barred(Obstacle::kWriteStuck);
  if (anyIn(facts.binding, facts, ids)) {
    return {Readiness::kBinding, {"binding", "a change of its group's drivers still runs"}};
  }
  auto bar = barTo(facts.snapshot, ids, allocation.backend);
  if (!bar) return {};
  if (bar->reason == "gone") return {Readiness::kGone, *bar};
  if (!allocation.onAllocate) return {Readiness::kBad, *bar};
  if (anyIn(facts.bindable, facts, ids)) return {Readiness::kBindable, *bar};
  if (const auto guard = guardBar(facts, ids)) return {Readiness::kBad, *guard};
  if (facts.binderAway) {
    bar->text += "; privd-binder is away";
  } else if (!facts.mayBind) {
    bar->text += "; privd gives no right to bind: see its --plugind-rights";
  }
  return {Readiness::kBad, *bar};
}

GroupReadiness judgeReadiness(const HardwareFacts& facts, const ResourceName& resource,
                              const std::set<UnitId>& ids, const AllocationSettings& allocation) {
  const GroupReadiness judged = judgeHardware(facts, ids, allocation);
  if (judged.readiness != Readiness::kReady || !needsSpec(allocation)) return judged;
  for (const UnitId& id : ids) {
    if (auto bar = barFromSpec(facts.specs, resource, id)) return {Readiness::kBad, *bar};
  }
  return judged;
}

bool allocatable(const GroupReadiness& readiness) {
  return readiness.readiness == Readiness::kReady || readiness.readiness == Readiness::kBindable;
}

}  // namespace vfiogate
