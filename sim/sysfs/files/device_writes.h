#pragma once
// What writing to the attributes of a PCI device does. Each errno is the kernel's.

#include "sim/sysfs/kernel/sysfs_tree.h"

namespace vfiogate::sim {

std::vector<Step> writeUevent(const WriteRequest& request);
std::vector<Step> writeDriverOverride(const WriteRequest& request);
std::vector<Step> writeEnable(const WriteRequest& request);
std::vector<Step> writeNumaNode(const WriteRequest& request);
std::vector<Step> writeReset(const WriteRequest& request);
std::vector<Step> writeResetMethod(const WriteRequest& request);
std::vector<Step> writeRemove(const WriteRequest& request);
std::vector<Step> writeDeviceRescan(const WriteRequest& request);
std::vector<Step> writeVirtualFunctions(const WriteRequest& request);
std::vector<Step> writeVfAutoprobe(const WriteRequest& request);

}  // namespace vfiogate::sim
