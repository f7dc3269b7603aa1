#include "plugind/dra/claims/claim_sweep.h"

#include "plugind/base/log_line.h"
#include "plugind/core/timing.h"

#include <set>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kBetween = 10 * kj::MINUTES;
/// The second answer counts a minute after the first; a little more, for two clocks.
constexpr auto kAgain =
    std::chrono::duration_cast<std::chrono::seconds>(timing::kClaimGap).count() * kj::SECONDS +
    1 * kj::SECONDS;
/// Many nodes may start at once.
constexpr int kMostJitterMs = 30'000;

}  // namespace

ClaimSweep::ClaimSweep(ApiLink& api, ClaimLedger& ledger, kj::Timer& timer, std::mt19937& random)
    : api_(api), ledger_(ledger), timer_(timer), random_(random) {}

void ClaimSweep::start() {
  if (std::exchange(started_, true)) return;
  running_ = forever().eagerlyEvaluate([](kj::Exception&& failure) {
    logError(LogEvent::kTaskFailed,
             {{"task", "claim_sweep"}, {"why", failure.getDescription().cStr()}});
  });
}

kj::Promise<void> ClaimSweep::forever() {
  std::uniform_int_distribution<int> jitter(0, kMostJitterMs);
  return timer_.afterDelay(jitter(random_) * kj::MILLISECONDS)
      .then([this]() { return sweep(held()); })
      .then([this](bool again) { return timer_.afterDelay(again ? kAgain : kBetween); })
      .then([this]() { return forever(); });
}

std::vector<ClaimName> ClaimSweep::held() const {
  std::set<ClaimName> claims;
  for (const HolderRecord& record : ledger_.ledgerState().records) {
    if (record.claim) claims.insert(*record.claim);
  }
  return {claims.begin(), claims.end()};
}

kj::Promise<bool> ClaimSweep::sweep(std::vector<ClaimName> claims) {
  if (claims.empty()) return false;
  const ClaimName claim = std::move(claims.back());
  claims.pop_back();
  return ask(claim).then([this, claims = std::move(claims)](bool gone) mutable {
    return sweep(std::move(claims)).then([gone](bool others) { return gone || others; });
  });
}

kj::Promise<bool> ClaimSweep::ask(const ClaimName& claim) {
  return api_.claim(claim.claimNamespace, claim.name)
      .then([this, claim](const ClaimAnswer& answer) {
        if (std::holds_alternative<ClaimUnread>(answer)) return false;
        const auto* found = std::get_if<AllocatedClaim>(&answer);
        const bool ours = found != nullptr && found->uid == claim.uid && found->allocated &&
                          !found->devices.empty();
        ledger_.claimChecked(claim.uid, ours);
        return !ours;
      });
}

}  // namespace vfiogate
