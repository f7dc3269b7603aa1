#pragma once
// What others have to be told so that they use the resources that the running plugind serves.

#include <nlohmann/json.hpp>

#include <string>

namespace vfiogate {

/// The part of KubeVirt's own resource that permits every resource of `status`, and how a virtual
/// machine asks for one, as YAML. `status`: docs/status-json.md.
std::string kubevirtFragment(const nlohmann::json& status);

/// The settings of the Kata runtime that plugs devices before the guest starts, as TOML, and for
/// each resource whether Kata will find its devices.
std::string kataFragment(const nlohmann::json& status);

}  // namespace vfiogate
