#pragma once
// Where a ResourceClaim is in a version of the API. Pure.

#include "ipc/base/kube_names.h"
#include "netd/dra/api/served_api.h"

#include <optional>
#include <string>

namespace vfiogate {

/// Absent: one of them is no name.
inline std::optional<std::string> claimPath(ResourceApi api, const std::string& claimNamespace,
                                            const std::string& name) {
  if (!isDnsLabel(claimNamespace) || !isDnsSubdomain(name)) return std::nullopt;
  return pathOf(api) + "/namespaces/" + claimNamespace + "/resourceclaims/" + name;
}

}  // namespace vfiogate
