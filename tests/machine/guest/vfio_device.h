#pragma once
// A VFIO device, opened as a virtual machine monitor opens it.

#include <string>

namespace vfiogate::machine {

/// Descriptors of what is open; -1 is none. Closed by closeDevice().
struct VfioDevice {
  int container = -1;  ///< or /dev/iommu
  int group = -1;
  int device = -1;
};

/// Opens a node below /dev/vfio: a group's ("12", "noiommu-12"), gives it an IOMMU and gets the
/// device's descriptor; or the device's own ("devices/vfio3") and binds it to /dev/iommu. On
/// failure `why` says at what, with the errno's name, and what was opened is closed again.
VfioDevice openDevice(const std::string& node, const std::string& address, std::string& why);

void closeDevice(VfioDevice& device);

/// "vendor:device" from the configuration region; empty and `why` on failure.
std::string readIds(const VfioDevice& device, std::string& why);

}  // namespace vfiogate::machine
