#pragma once
// privd's Landlock rules for people and programs: the table that the daemon loads.

#include <nlohmann/json.hpp>

#include <string>

namespace vfiogate {

/// Under a heading, a place a line: rights, for whom, what stands for it where it is missing, why.
std::string landlockAsText();

/// {"elsewhere": "nothing", "forked": "nothing anywhere", "places": [{"place", "rights": ["read"],
/// "for", "missing", "reason"}]}. "for" is "everyone", "cdi" or "dra"; "missing" is "nothing" or
/// "above".
nlohmann::ordered_json landlockAsJson();

}  // namespace vfiogate
