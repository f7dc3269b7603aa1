#pragma once
// What is wrong or odd between the parts of a configuration that are each right.

#include "plugind/config/findings.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// Refuses names that two parts claim; warns of what has no effect or may surprise.
void reviewSettings(const Settings& settings, Findings& findings);

/// True if some device can match both. May say so of two address patterns that never meet.
bool mayOverlap(const Selector& left, const Selector& right);

}  // namespace vfiogate
