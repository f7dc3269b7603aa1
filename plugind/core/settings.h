#pragma once
// What the configuration asks for, checked, as the core uses it. Only what this version can do.

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/types/resource_name.h"
#include "ipc/types/selector.h"

namespace vfiogate {

/// One make of device: what a resource without a name of its own is named for.
struct Model {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  friend auto operator<=>(const Model&, const Model&) = default;
};

enum class Naming : std::uint8_t {
  kVendorDevice,     ///< "10de_2684"
  kPciVendorDevice,  ///< "pci_10de_2684": begins with a letter, as CDI wants it
};

/// Through which device nodes a container reaches its device.
enum class Backend : std::uint8_t {
  kAuto,     ///< legacy while the group has a node, otherwise iommufd
  kLegacy,   ///< /dev/vfio/vfio and /dev/vfio/<group>
  kIommufd,  ///< /dev/iommu and /dev/vfio/devices/vfio<N>
  kBoth,
};

/// How the devices of one entry of `resources` are lent.
struct LendingSettings {
  Backend backend = Backend::kAuto;
  bool kubevirtVariable = true;  ///< PCI_RESOURCE_... in the container's environment

  friend bool operator==(const LendingSettings&, const LendingSettings&) = default;
};

/// One entry of `resources`.
struct ResourceSettings {
  std::optional<ResourceName> name;  ///< absent: prefix and naming rule, one resource per model
  Selector select;
  LendingSettings lending;

  friend bool operator==(const ResourceSettings&, const ResourceSettings&) = default;
};

struct Settings {
  std::string resourcePrefix = "vfiogate.dev";
  Naming naming = Naming::kVendorDevice;
  std::map<Model, ResourceName> aliases;  ///< win over `naming`
  std::vector<Selector> exclude;          ///< win over every resource
  std::vector<ResourceSettings> resources;
  std::chrono::milliseconds grace{60'000};        ///< frames stand this long without privd
  std::chrono::milliseconds allocateWait{5'000};  ///< of the first Allocate without privd

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace vfiogate
