#pragma once
// What is wrong or odd between the parts of a configuration that are each right.

#include "plugind/config/findings.h"
#include "plugind/core/settings.h"

#include <optional>
#include <string>

namespace vfiogate {

/// Refuses names that two parts claim; warns of what has no effect or may surprise.
void reviewSettings(const Settings& settings, Findings& findings);

/// True if some device can match both. May say so of two address patterns that never meet.
bool mayOverlap(const Selector& left, const Selector& right);

/// Refuses each name that is known to be no CDI kind, whether it is written down, an alias, or made
/// from the ids that the entry selects; warns where the ids are not known before there is a device,
/// and of the right that privd has to give.
void reviewCdiKinds(const Settings& settings, Findings& findings);

/// Refuses resources that nobody could serve; warns of keys without effect.
void reviewDra(const Settings& settings, Findings& findings);

/// Of `companions: attach`: what it needs, and where it cannot do what is asked.
void reviewCompanions(const Settings& settings, Findings& findings);

/// Refuses sets whose names or devices meet without a rule for that, and keys that are not for
/// sets.
void reviewSets(const Settings& settings, Findings& findings);

/// Of `more`: sets of one size, a name of its own, and what it needs.
void reviewMore(const Settings& settings, Findings& findings);

/// Refuses iommufdSocket where it is no path, or of no use to who is allocated a device.
void reviewIommufdSockets(const Settings& settings, Findings& findings);

/// Why settings that are fine by themselves cannot follow those in effect without a restart. Null:
/// they can. The driver's name is in sockets, slices and specs of claims that run. `productsRead`:
/// pci.ids was read at the start, as wantsProducts() wanted then.
std::optional<std::string> refuseReload(const Settings& inEffect, const Settings& posted,
                                        bool productsRead);

}  // namespace vfiogate
