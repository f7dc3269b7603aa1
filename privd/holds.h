#pragma once
// Which groups plugind has lent, or is lending, as it told us.

#include "ipc/types/bdf.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace vfiogate {

/// Kept by address, since groups are formed anew under numbers that others had, and while plugind
/// is away: it is there to be asked before somebody binds or unbinds by hand. No peer can name more
/// than the addresses of the groups that it was given.
class Holds {
public:
  /// One session.
  using Claimant = std::uint64_t;

  Claimant newClaimant() { return ++lastClaimant_; }

  void hold(const std::vector<Bdf>& members, Claimant by) {
    for (const Bdf& member : members) claims_.insert_or_assign(member, by);
  }

  /// Whoever held them.
  void drop(const std::vector<Bdf>& members) {
    for (const Bdf& member : members) claims_.erase(member);
  }

  /// Drops what was claimed by other sessions only.
  void keepOnly(Claimant by) {
    std::erase_if(claims_, [by](const auto& claim) { return claim.second != by; });
  }

  /// True if one of these must not be bound or unbound without `--override held`.
  bool anyOf(const std::vector<Bdf>& members) const {
    return std::ranges::any_of(members, [this](const Bdf& m) { return claims_.contains(m); });
  }

private:
  std::map<Bdf, Claimant> claims_;
  Claimant lastClaimant_ = 0;
};

}  // namespace vfiogate
