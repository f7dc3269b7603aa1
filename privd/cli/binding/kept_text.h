#pragma once
// What privd keeps for operators, for people and for programs, and what it does not keep.

#include "ipc/types/unit_id.h"
#include "privd/state/state_directory.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vfiogate {

/// "2026-11-22T05:35:07Z"
std::string timeText(std::int64_t secondsSince1970);

/// For people; `now` in seconds since 1970: times of today have no date.
std::string keptText(const std::vector<Exclusion>& exclusions,
                     const std::vector<DeviceIdentity>& declared, std::int64_t now, bool colours);
/// The document of `privd holds -o json`.
nlohmann::ordered_json keptJson(const std::vector<Exclusion>& exclusions,
                                const std::vector<DeviceIdentity>& declared);

/// What whoever excludes the device may not expect: one line, by what is below `sysfs` now; empty:
/// there is nothing to say.
std::string holdRemark(const UnitId& device, const std::string& sysfs);

}  // namespace vfiogate
