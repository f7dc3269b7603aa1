#pragma once
// Landlock rules for people and programs: the tables that privd's processes load.

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace vfiogate {

/// Of "hardware", "gate", "binder" or "daemon". Under a heading, a place a line: rights, for whom,
/// what stands for it where it is missing, why.
std::string landlockAsText(std::string_view role);

/// {"elsewhere": "nothing", "places": [{"place", "rights": ["read"], "for", "missing", "reason"}]},
/// of the binder with "forked": "nothing anywhere"; null for the daemon, which has none. "for" is
/// "everyone", "cdi" or "dra"; "missing" is "nothing" or "above".
nlohmann::ordered_json landlockAsJson(std::string_view role);

}  // namespace vfiogate
