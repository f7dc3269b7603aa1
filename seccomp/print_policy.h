#pragma once
// A table for people and programs: what `policy` prints is what the loader loads.

#include "seccomp/print_profile.h"
#include "seccomp/rule.h"

#include <array>
#include <string>
#include <string_view>

namespace vfiogate {

/// Name of a call, as in "openat2".
std::string callName(const SystemCall& call);

/// Names of the calls that a row is about, as in "newfstatat or fstat".
std::string callNames(const Rule& rule);

/// The forms that `policy -o` takes: "text" and "json" are the table, "yaml" is the same as "json",
/// which the command line makes of it, "oci" is print_profile.h's.
inline constexpr std::array kPolicyForms{"text", "json", "yaml", "oci"};

/// The policy in one of these forms but "yaml"; the command line takes no other. The tables of
/// further processes come last as text, and as JSON are under their keys, in the form of the whole.
///
/// Text: one row a line under a heading: calls, arguments, answer, reason, and for a defensive row
/// the condition under which it is needed. JSON is stable: {"process", "default",
/// "foreignArchitecture", "rows": [{"call", "number", "madeBy", "alternatives": [{"call", "number",
/// "madeBy"}], "arguments": [{"index", "mask", "value", "text"}], "action", "reason",
/// "defensive"}]}. "madeBy" says which libraries make this call for the row's need, null where no
/// other does; "action" is "allow" or "errno NAME"; "defensive" is the condition or null.
std::string policyAs(std::string_view form, const Policy& policy);

}  // namespace vfiogate
