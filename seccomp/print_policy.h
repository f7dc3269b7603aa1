#pragma once
// A table for people and programs: what `policy` prints is what the loader loads.

#include "seccomp/rule.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vfiogate {

/// Name of the call that a row is about, as in "openat2".
std::string callName(const Rule& rule);

/// One row a line under a heading: call, arguments, answer, reason, and for a defensive row the
/// condition under which it is needed.
std::string policyAsText(std::string_view process, std::span<const Rule> table);

/// Stable: {"process", "default", "foreignArchitecture", "rows": [{"call", "number",
/// "arguments": [{"index", "mask", "value", "text"}], "action", "reason", "defensive"}]}.
/// "action" is "allow" or "errno NAME"; "defensive" is the condition or null.
std::string policyAsJson(std::string_view process, std::span<const Rule> table);

/// The policy in the form that -o names. None if `form` is not one of "text" and "json";
/// whyNoPolicy says it to the user.
std::optional<std::string> policyAs(std::string_view form, std::string_view process,
                                    std::span<const Rule> table);

/// One line: why policyAs refused `form`.
std::string whyNoPolicy(std::string_view form);

}  // namespace vfiogate
