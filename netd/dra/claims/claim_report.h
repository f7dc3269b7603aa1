#pragma once
// status.devices of a claim: what the driver says of the devices that it prepared. Pure.

#include "ipc/api/api_claim.h"
#include "ipc/base/result.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

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
