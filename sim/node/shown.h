#pragma once
// What a node's kubelet sees, in words.

#include "sim/kubelet/kubelet_sim.h"

#include <string>

namespace vfiogate::sim {

/// "[0000:01:00.0 Healthy numa 0, 0000:02:00.0 Unhealthy]": the last frame of a resource.
std::string frameText(const DeviceTable& devices);

/// "0000:01:00.0 nodes /dev/vfio/vfio /dev/vfio/12 env PCI_RESOURCE_...=0000:01:00.0".
std::string grantText(const Granted& granted);

/// Resources with capacity, allocatable and devices, a line each.
std::string nodeText(KubeletSim& kubelet);

}  // namespace vfiogate::sim
