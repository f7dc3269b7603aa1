#include "privd/audit/refusal_digest.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestPart = 200;
constexpr auto kPause = std::chrono::seconds(1);

constexpr std::size_t kMostInAll = 120;
constexpr std::ptrdiff_t kMostOfGroup = 10;

}  // namespace

void RefusalDigest::count(RefusalKind kind, Time now) {
  kind.peer.resize(std::min(kind.peer.size(), kLongestPart));
  kind.reason.resize(std::min(kind.reason.size(), kLongestPart));
  auto found = tallies_.find(kind);
  if (found == tallies_.end()) {
    if (tallies_.size() >= kMostKinds - 1) forgetOld(now);
    // The last place is that of all others.
    if (tallies_.size() >= kMostKinds - 1) kind = {"others", std::nullopt, "several"};
    found = tallies_.try_emplace(std::move(kind)).first;
  }
  ++found->second.untold;
}

std::vector<RefusalDigest::Told> RefusalDigest::due(Time now) {
  std::vector<Told> told;
  for (auto& [kind, tally] : tallies_) {
    if (tally.untold == 0 || (tally.told && now - *tally.told < kPause)) continue;
    told.push_back({kind, tally.untold});
    tally = {0, now};
  }
  return told;
}

void RefusalDigest::forgetOld(Time now) {
  std::erase_if(tallies_, [now](const auto& entry) {
    const Tally& tally = entry.second;
    return tally.untold == 0 && tally.told && now - *tally.told >= kPause;
  });
}

bool WriteLimits::admit(std::uint32_t uid, std::uint32_t group, Time now) {
  std::deque<Order>& orders = orders_[uid];
  while (!orders.empty() && now - orders.front().at >= std::chrono::minutes(1)) orders.pop_front();
  if (orders.size() >= kMostInAll) return false;
  if (std::ranges::count(orders, group, &Order::group) >= kMostOfGroup) return false;
  orders.push_back({group, now});
  return true;
}

}  // namespace vfiogate
