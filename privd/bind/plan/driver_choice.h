#pragma once
// Which VFIO driver a device is bound to: a variant made for it, or vfio-pci.

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// A line "alias vfio_pci:v000015B3d0000101Esv*... mlx5_vfio_pci" of the kernel's modules.alias.
struct VfioAlias {
  std::string pattern;  ///< beginning with "vfio_pci:"
  std::string module;
};

/// Only the aliases that begin with "vfio_pci:"; at most 4,096.
std::vector<VfioAlias> vfioAliases(std::string_view modulesAlias);

/// Modules made for the device (`modalias` as sysfs says it, "pci:v000015B3d..."), the most
/// specific pattern first. vfio-pci itself, whose pattern fits all, is not among them.
std::vector<std::string> variantsFor(std::string_view modalias,
                                     const std::vector<VfioAlias>& aliases);

struct DriverChoice {
  std::string driver;
  std::string remark;  ///< for people; empty: nothing to say
};

/// `loaded` are the names below bus/pci/drivers. A driver may be spelt with '-' where its module
/// has '_'. A variant that is not loaded is named in the remark, and vfio-pci taken.
DriverChoice chooseDriver(std::string_view modalias, const std::vector<VfioAlias>& aliases,
                          const std::vector<std::string>& loaded);

}  // namespace vfiogate
