#pragma once
// What stands out in settings of DRA, and what a running plugind cannot take over of them.

#include <optional>
#include <string>
#include <string_view>

#include "plugind/config/findings.h"

namespace vfiogate {

/// A lower-case DNS subdomain of at most 63 characters that begins with a letter: the API wants the
/// former of a driver, CDI the latter of a vendor.
bool isDriverDomain(std::string_view text);

/// Refuses resources that nobody could serve; warns of keys without effect.
void reviewDra(const Settings& settings, Findings& findings);

/// Why settings that are fine by themselves cannot follow those in effect without a restart. Null:
/// they can. The driver's name is in sockets, slices and specs of claims that run.
std::optional<std::string> refuseReload(const Settings& inEffect, const Settings& posted);

}  // namespace vfiogate
