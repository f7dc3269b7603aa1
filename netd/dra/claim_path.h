#pragma once
// Where a ResourceClaim is in the API. Pure.

#include "ipc/types/kube_names.h"

#include <optional>
#include <string>

namespace vfiogate {

/// Absent: one of them is no name.
inline std::optional<std::string> claimPath(const std::string& claimNamespace,
                                            const std::string& name) {
  if (!isDnsLabel(claimNamespace) || !isDnsSubdomain(name)) return std::nullopt;
  return "/apis/resource.k8s.io/v1/namespaces/" + claimNamespace + "/resourceclaims/" + name;
}

}  // namespace vfiogate
