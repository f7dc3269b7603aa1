#pragma once
// What a kubelet and the API server would print.

#include "sim/kubelet_program/cluster.h"

#include <string>

namespace vfiogate::sim {

/// As the node's status has it; computing it drops resources whose grace period is over.
std::string nodeTable(Cluster& cluster);
std::string nodeJson(Cluster& cluster);

/// As kubectl shows pods; `wide` with their devices.
std::string podTable(Cluster& cluster, bool wide);
std::string podJson(Cluster& cluster);

/// What the container runtime knows: also containers of pods that were deleted by force.
std::string containerTable(Cluster& cluster);
/// One device a line: its health, its NUMA node, who has it.
std::string deviceTable(Cluster& cluster, const std::string& resource);

}  // namespace vfiogate::sim
