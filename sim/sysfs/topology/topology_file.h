#pragma once
// Reads topology files: README.md beside this file tells their form.
// The parts of a topology file that tell what drivers make of their devices, and of themselves.

#include "ipc/base/result.h"
#include "sim/sysfs/topology/topology.h"
#include "sim/sysfs/topology/yaml_reader.h"

#include <map>
#include <string>

namespace vfiogate::sim {

/// Reads `text` as a topology. Everything that could not be real hardware is refused, with the
/// line and what would fix it.
Result<Topology, TopologyError> parseTopology(const std::string& text);

/// Where the devices of a file stand, for messages.
using DeviceLines = std::map<Bdf, int>;

/// Looks for what is wrong between devices: bridges, buses, functions, groups, drivers.
void checkTopology(const Topology& topology, const DeviceLines& lines, YamlReader& reader);

/// The keys block, net, drm, graphics and input of a device.
HostObjects readHostObjects(YamlReader& reader, const YAML::Node& device);

/// One of virtualDisks.
VirtualDiskSpec readVirtualDisk(YamlReader& reader, const YAML::Node& node);

/// The key module of a driver; `node` may be absent.
ModuleSpec readModule(YamlReader& reader, const YAML::Node& node, const std::string& driver);

}  // namespace vfiogate::sim
