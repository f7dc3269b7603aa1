#pragma once
// The parts of a topology file that tell what drivers make of their devices, and of themselves.

#include "sim/sysfs/topology/topology.h"
#include "sim/sysfs/topology/yaml_reader.h"

namespace vfiogate::sim {

/// The keys block, net, drm, graphics and input of a device.
HostObjects readHostObjects(YamlReader& reader, const YAML::Node& device);

/// One of virtualDisks.
VirtualDiskSpec readVirtualDisk(YamlReader& reader, const YAML::Node& node);

/// The key module of a driver; `node` may be absent.
ModuleSpec readModule(YamlReader& reader, const YAML::Node& node, const std::string& driver);

}  // namespace vfiogate::sim
