#include "privd/bind/allocations.h"

#include "privd/bind/refusals.h"

namespace vfiogate {
namespace {

AllocationAnswer answerOf(const ChangeReport& report) {
  using Outcome = AllocationAnswer::Outcome;
  switch (report.outcome) {
    case ChangeOutcome::kDone:
    case ChangeOutcome::kAlreadySo:
      return {};
    case ChangeOutcome::kRefused:
      return {Outcome::kRefused, report.error};
    case ChangeOutcome::kFailed:
    case ChangeOutcome::kLeftChanged:
      return {Outcome::kFailed, report.error};
    case ChangeOutcome::kStuck:
      return {Outcome::kStuck, report.error};
  }
  return {Outcome::kFailed, report.error};
}

}  // namespace

kj::Promise<AllocationAnswer> Allocations::bind(const std::vector<Bdf>& members) {
  return change(ChangeKind::kBind, members);
}

kj::Promise<AllocationAnswer> Allocations::giveBack(const std::vector<Bdf>& members) {
  std::vector<Bdf> allocated;
  for (const Bdf& member : members) {
    const auto record = state_.boundAt(member);
    if (record && record->purpose == BoundFor::kAllocation) allocated.push_back(member);
  }
  if (allocated.empty()) return AllocationAnswer{};
  return change(ChangeKind::kUnbind, std::move(allocated));
}

kj::Promise<AllocationAnswer> Allocations::change(ChangeKind kind, std::vector<Bdf> addresses) {
  using Outcome = AllocationAnswer::Outcome;
  const auto groups = binder_.groupsOf(addresses);
  if (!groups) return AllocationAnswer{Outcome::kVanished, {}};
  const auto now = steadyTime(timer_);
  for (const IommuGroupId& group : *groups) {
    if (!limits_.admit(uid_, group.number(), now)) {
      return AllocationAnswer{Outcome::kRefused,
                              "too many changes of bindings: ask again in a minute"};
    }
  }
  if (audit_ != nullptr && !audit_->roomForPeers()) {
    return AllocationAnswer{Outcome::kRefused, "the disk of the audit log is nearly full"};
  }
  return binder_
      .change({.order = {.kind = kind, .addresses = std::move(addresses)},
               .by = ChangeBy::kAllocation,
               .peer = {.role = "plugind", .uid = uid_}})
      .then([](ChangeReport report) { return answerOf(report); });
}

}  // namespace vfiogate
