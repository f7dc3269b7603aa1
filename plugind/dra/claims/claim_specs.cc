#include "plugind/dra/claims/claim_specs.h"

#include "plugind/base/log_line.h"

#include <algorithm>
#include <utility>

namespace vfiogate {

ClaimSpecs::ClaimSpecs(PrivdLink& privd, ClaimLedger& ledger)
    : privd_(privd), ledger_(ledger), tasks_(*this) {}

void ClaimSpecs::write(CallId call, ClaimSpec spec) {
  tasks_.add(one_.pass([this, spec]() { return privd_.writeClaimSpec(spec); })
                 .then([this, call, spec](Result<std::vector<std::string>, SpecTrouble> answer) {
                   written(call, spec, answer);
                 }));
}

void ClaimSpecs::written(CallId call, const ClaimSpec& spec,
                         const Result<std::vector<std::string>, SpecTrouble>& answer) {
  auto& names = names_[spec.uid];
  names.clear();
  troubles_.erase(spec.uid);
  if (!answer) {
    troubles_[spec.uid] = answer.error().why;
  } else if (answer->size() != spec.devices.size()) {
    troubles_[spec.uid] = "privd names other devices than it was asked for";
  } else {
    for (std::size_t i = 0; i < spec.devices.size(); ++i) {
      names.emplace(spec.devices[i].address, (*answer)[i]);
    }
  }
  const bool good = !troubles_.contains(spec.uid);
  if (!good) {
    logWarning(LogEvent::kClaimSpecFailed, {{"claim", spec.uid}, {"why", troubles_.at(spec.uid)}});
  }
  ledger_.specWritten(call, good);
  if (good && !isWanted(spec.uid)) unlink(spec.uid);
}

void ClaimSpecs::unlink(const std::string& uid) {
  tasks_.add(one_.pass([this, uid]() {
    if (isHeld(uid)) return kj::Promise<void>(kj::READY_NOW);
    return privd_.unlinkClaimSpec(uid).then(
        [this, uid](Result<Done, SpecTrouble> answer) { unlinked(uid, answer); });
  }));
}

void ClaimSpecs::unlinked(const std::string& uid, const Result<Done, SpecTrouble>& answer) {
  names_.erase(uid);
  troubles_.erase(uid);
  if (!answer) {
    troubles_[uid] = answer.error().why;
    logWarning(LogEvent::kClaimSpecFailed, {{"claim", uid}, {"why", answer.error().why}});
  }
  ledger_.specUnlinked(uid, answer.has_value());
}

/// And nobody is about to let it go.
bool ClaimSpecs::isHeld(const std::string& uid) const {
  return std::ranges::any_of(ledger_.ledgerState().records, [&uid](const HolderRecord& record) {
    return record.claim && record.claim->uid == uid && !record.unlinking;
  });
}

bool ClaimSpecs::isWanted(const std::string& uid) const {
  const LedgerState& state = ledger_.ledgerState();
  const auto isOf = [&uid](const std::optional<ClaimName>& claim) {
    return claim && claim->uid == uid;
  };
  return std::ranges::any_of(state.records, isOf, &HolderRecord::claim) ||
         std::ranges::any_of(state.calls, [&uid](const auto& entry) {
           return entry.second.prepare && entry.second.prepare->claim.uid == uid;
         });
}

const std::map<UnitId, std::string>& ClaimSpecs::namesOf(const std::string& uid) const {
  static const std::map<UnitId, std::string> none;
  const auto found = names_.find(uid);
  return found == names_.end() ? none : found->second;
}

const std::string& ClaimSpecs::troubleOf(const std::string& uid) const {
  static const std::string none;
  const auto found = troubles_.find(uid);
  return found == troubles_.end() ? none : found->second;
}

void ClaimSpecs::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed,
           {{"task", "claim_specs"}, {"why", exception.getDescription().cStr()}});
}

}  // namespace vfiogate
