#include "privd/bind/lendings.h"

#include "privd/bind/steady_time.h"

namespace vfiogate {
namespace {

LendingAnswer answerOf(const ChangeReport& report) {
  using Outcome = LendingAnswer::Outcome;
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

kj::Promise<LendingAnswer> Lendings::bind(const std::vector<Bdf>& members) {
  return change(ChangeKind::kBind, members);
}

kj::Promise<LendingAnswer> Lendings::giveBack(const std::vector<Bdf>& members) {
  std::vector<Bdf> lent;
  for (const Bdf& member : members) {
    const BoundDevice* record = state_.boundAt(member);
    if (record != nullptr && record->purpose == BoundFor::kLending) lent.push_back(member);
  }
  if (lent.empty()) return LendingAnswer{};
  return change(ChangeKind::kUnbind, std::move(lent));
}

kj::Promise<LendingAnswer> Lendings::change(ChangeKind kind, std::vector<Bdf> addresses) {
  using Outcome = LendingAnswer::Outcome;
  const auto groups = binder_.groupsOf(addresses);
  if (!groups) return LendingAnswer{Outcome::kVanished, {}};
  const auto now = steadyTime(timer_);
  for (const IommuGroupId& group : *groups) {
    if (!limits_.admit(uid_, group.number(), now)) {
      return LendingAnswer{Outcome::kRefused,
                           "too many changes of bindings: ask again in a minute"};
    }
  }
  if (audit_ != nullptr && !audit_->roomForPeers()) {
    return LendingAnswer{Outcome::kRefused, "the disk of the audit log is nearly full"};
  }
  return binder_
      .change({.order = {.kind = kind, .addresses = std::move(addresses)},
               .by = ChangeBy::kLending,
               .peer = {.role = "plugind", .uid = uid_}})
      .then([](ChangeReport report) { return answerOf(report); });
}

}  // namespace vfiogate
