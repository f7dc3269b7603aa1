#pragma once
// Reads topology files: README.md beside this file tells their form.

#include <map>
#include <string>

#include "ipc/base/result.h"
#include "sim/sysfs/topology/topology.h"
#include "sim/sysfs/topology/yaml_reader.h"

namespace vfiogate::sim {

/// Reads `text` as a topology. Everything that could not be real hardware is refused, with the
/// line and what would fix it.
Result<Topology, TopologyError> parseTopology(const std::string& text);

/// Where the devices of a file stand, for messages.
using DeviceLines = std::map<Bdf, int>;

/// Looks for what is wrong between devices: bridges, buses, functions, groups, drivers.
void checkTopology(const Topology& topology, const DeviceLines& lines, YamlReader& reader);

}  // namespace vfiogate::sim
