#pragma once
// Whether the resources that need a CDI spec have names that CDI takes.

#include "plugind/config/findings.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// Refuses each name that is known to be no CDI kind, whether it is written down, an alias, or made
/// from the ids that the entry selects; warns where the ids are not known before there is a device,
/// and of the right that privd has to give.
void reviewCdiKinds(const Settings& settings, Findings& findings);

}  // namespace vfiogate
