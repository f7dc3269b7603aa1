#pragma once
// Where a ResourceClaim is in the API. Pure.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// A name that may stand in a path: what Kubernetes takes for a namespace or a claim.
inline bool isApiName(std::string_view text) {
  constexpr std::size_t kLongest = 253;
  return !text.empty() && text.size() <= kLongest && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

/// Absent: one of them is no name.
inline std::optional<std::string> claimPath(const std::string& claimNamespace,
                                            const std::string& name) {
  if (!isApiName(claimNamespace) || !isApiName(name)) return std::nullopt;
  return "/apis/resource.k8s.io/v1/namespaces/" + claimNamespace + "/resourceclaims/" + name;
}

}  // namespace vfiogate
