#include "plugind/dra/claims/claims_call.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace vfiogate {
namespace {

// What Kubernetes lets a name be.
constexpr std::size_t kLongestUid = 36;
constexpr std::size_t kLongestNamespace = 63;
constexpr std::size_t kLongestName = 253;

bool isBadLength(std::string_view text, std::size_t most) {
  return text.empty() || text.size() > most;
}

std::optional<std::string> objectionTo(const ClaimName& claim) {
  const auto wrong = [](const char* what, std::size_t length, std::size_t most) {
    return std::string("the ") + what + " of a claim has " + std::to_string(length) +
           " bytes, not 1 to " + std::to_string(most);
  };
  if (isBadLength(claim.uid, kLongestUid)) return wrong("UID", claim.uid.size(), kLongestUid);
  if (isBadLength(claim.claimNamespace, kLongestNamespace)) {
    return wrong("namespace", claim.claimNamespace.size(), kLongestNamespace);
  }
  if (isBadLength(claim.name, kLongestName)) return wrong("name", claim.name.size(), kLongestName);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> objectionTo(const std::vector<ClaimName>& claims) {
  if (claims.size() > kMostCallClaims) {
    return "a call for " + std::to_string(claims.size()) + " claims, and " +
           std::to_string(kMostCallClaims) + " are the most";
  }
  std::set<std::string_view> uids;
  for (const ClaimName& claim : claims) {
    if (auto objection = objectionTo(claim)) return objection;
    if (!uids.insert(claim.uid).second) return "the claim " + claim.uid + " comes twice";
  }
  return std::nullopt;
}

}  // namespace vfiogate
