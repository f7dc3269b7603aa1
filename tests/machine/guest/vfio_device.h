#pragma once
// A VFIO device, opened as a virtual machine monitor opens it.

#include <string>

namespace vfiogate::machine {

/// Descriptors of what is open; -1 is none. Closed by closeDevice().
struct VfioDevice {
  int container = -1;
  int group = -1;
  int device = -1;
};

/// Opens the group, gives it an IOMMU, gets the device's descriptor. On failure `why` says at what,
/// with the errno's name, and what was opened is closed again.
VfioDevice openDevice(const std::string& group, const std::string& address, std::string& why);

void closeDevice(VfioDevice& device);

/// "vendor:device" from the configuration region; empty and `why` on failure.
std::string readIds(const VfioDevice& device, std::string& why);

}  // namespace vfiogate::machine
