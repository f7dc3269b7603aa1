#pragma once
// The commands that ask the running plugind.
// `plugind status` and `plugind explain` for people, made from the documents for machines.
// What others have to be told so that they use the resources that the running plugind serves.

#include "plugind/cli/command_line.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace vfiogate {

/// Prints the answer. Returns the exit code: 0 answered, 1 not. For a probe: 0 ready, 1 not ready
/// or not answered.
int ask(const CommandLine& line);

/// `width` of the terminal; 0: no limit.
std::string statusTable(const nlohmann::json& status, std::size_t width, bool colours);

std::string explanationText(const nlohmann::json& explanation);

/// The part of KubeVirt's own resource that permits every resource of `status`, and how a virtual
/// machine asks for one, as YAML. `status`: docs/status-json.md.
std::string kubevirtFragment(const nlohmann::json& status);

/// The settings of the Kata runtime that plugs devices before the guest starts, as TOML, and for
/// each resource whether Kata will find its devices.
std::string kataFragment(const nlohmann::json& status);

}  // namespace vfiogate
