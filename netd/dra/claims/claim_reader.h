#pragma once
// A ResourceClaim as the API server sends it. Pure.

#include "ipc/api/api_claim.h"
#include "ipc/base/kube_names.h"
#include "ipc/base/result.h"
#include "netd/dra/api/served_api.h"

#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Reads a claim of any version, as all say an allocation in the same words: its allocation as far
/// as it is `driver`'s. Error: for people, which field is not what the API server stores. Opaque
/// configuration is its author's input: what is wrong with it is said with the device.
Result<AllocatedClaim, std::string> readClaim(std::string_view text, const std::string& driver);

/// Absent: one of them is no name.
inline std::optional<std::string> claimPath(ResourceApi api, const std::string& claimNamespace,
                                            const std::string& name) {
  if (!isDnsLabel(claimNamespace) || !isDnsSubdomain(name)) return std::nullopt;
  return pathOf(api) + "/namespaces/" + claimNamespace + "/resourceclaims/" + name;
}

}  // namespace vfiogate
