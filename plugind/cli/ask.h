#pragma once
// The commands that ask the running plugind.
// `plugind status` and `plugind explain` for people, made from the documents for machines.
// What others have to be told so that they use the resources that the running plugind serves.

#include "cli/picture/topology.h"
#include "plugind/cli/command_line.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace vfiogate {

/// Prints the answer. Returns the exit code: 0 answered, 1 not. For a probe: 0 ready, or the
/// device is offered; 1 not, or not answered.
int ask(const CommandLine& line);

/// What `plugind probe ADDRESS` says of one device.
struct DeviceVerdict {
  bool offered = false;
  std::string text;  ///< "0000:65:00.0: host-driver: bound to nouveau, ..."
};

/// `explanation`: docs/status-json.md.
DeviceVerdict verdictOf(const nlohmann::json& explanation);

/// `width` of the terminal; 0: no limit. `now` in seconds since 1970: times of today have no date.
std::string statusTable(const nlohmann::json& status, std::size_t width, bool colours,
                        std::int64_t now);

/// The devices of `status` by NUMA node and IOMMU group, for a picture.
Topology topologyOf(const nlohmann::json& status);

std::string explanationText(const nlohmann::json& explanation);

/// The part of KubeVirt's own resource that permits every resource of `status`, and how a virtual
/// machine asks for one, as YAML. `status`: docs/status-json.md.
std::string kubevirtFragment(const nlohmann::json& status);

/// The settings of the Kata runtime that plugs devices before the guest starts, as TOML, and for
/// each resource whether Kata will find its devices.
std::string kataFragment(const nlohmann::json& status);

}  // namespace vfiogate
