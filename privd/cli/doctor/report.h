#pragma once
// Findings for a person, and as docs/doctor.md promises them to programs.

#include "privd/cli/doctor/finding.h"

#include <nlohmann/json.hpp>

#include <string>

namespace vfiogate {

/// A block for each finding, what is in order in one line each, then how many there are of each
/// level. With `colours`, escape sequences.
std::string reportText(const Findings& findings, bool colours);

nlohmann::ordered_json reportJson(const Findings& findings);

/// 1 if there is a problem, else 0.
int exitCodeOf(const Findings& findings);

}  // namespace vfiogate
