#pragma once
// What stands out in settings of DRA, and what a running plugind cannot take over of them.

#include <optional>
#include <string>

#include "plugind/config/findings.h"

namespace vfiogate {

/// Refuses resources that nobody could serve; warns of keys without effect.
void reviewDra(const Settings& settings, Findings& findings);

/// Why settings that are fine by themselves cannot follow those in effect without a restart. Null:
/// they can. The driver's name is in sockets, slices and specs of claims that run.
std::optional<std::string> refuseReload(const Settings& inEffect, const Settings& posted);

}  // namespace vfiogate
