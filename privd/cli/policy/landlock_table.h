#pragma once
// Landlock rules for people and programs: the tables that the daemon and the gate load.

#include <nlohmann/json.hpp>

#include <string>

namespace vfiogate {

/// Under a heading for each, a place a line: rights, for whom, what stands for it where it is
/// missing, why.
std::string landlockAsText();

/// {"elsewhere": "nothing", "forked": "nothing anywhere", "places": [{"place", "rights": ["read"],
/// "for", "missing", "reason"}], "started": {"elsewhere", "places"}}, the last of the gate. "for"
/// is "everyone", "cdi" or "dra"; "missing" is "nothing" or "above".
nlohmann::ordered_json landlockAsJson();

}  // namespace vfiogate
