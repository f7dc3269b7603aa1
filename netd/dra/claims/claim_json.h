#pragma once
// A ResourceClaim as the API server sends it, and its status.devices, which the driver reports.
// Pure.

#include "ipc/api/api_claim.h"
#include "ipc/base/kube_names.h"
#include "ipc/base/result.h"
#include "netd/dra/api/api_versions.h"

#include <chrono>
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

/// The claim `text`, as the API server sent it, with `report` in its status; for PUT of .../status.
/// Other drivers' entries stay; of the report's driver only what it reports is left. The
/// transition time of a condition that stays as it is stays. Absent: it says so already. Error: for
/// people; another claim has the name by now, or it is no longer allocated.
Result<std::optional<std::string>, std::string> claimWithReport(std::string_view text,
                                                                const ClaimReport& report,
                                                                std::chrono::sys_seconds now);

/// "2026-11-22T09:10:00Z"
std::string apiTime(std::chrono::sys_seconds when);

}  // namespace vfiogate
