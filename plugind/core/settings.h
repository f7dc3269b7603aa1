#pragma once
// What the configuration asks for, checked, as the core uses it. Only what this version can do.

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/kube_names.h"
#include "ipc/types/selector.h"
#include "ipc/types/vfio_nodes.h"
#include "plugind/core/device_sets.h"

namespace vfiogate {

/// Of one plugind: each has a socket that privd makes, and privd makes no more.
inline constexpr std::size_t kMostResources = 64;

/// One make of device: what a resource without a name of its own is named for.
struct Model {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  friend auto operator<=>(const Model&, const Model&) = default;
};

enum class Naming : std::uint8_t {
  kVendorDevice,     ///< "10de_2684"
  kPciVendorDevice,  ///< "pci_10de_2684": begins with a letter, as CDI wants it
  kPciIds,           ///< "AD102_GEFORCE_RTX_4090": as NVIDIA's plugin names them, from pci.ids
};

/// What one device of a resource stands for (ledger.md 8).
enum class GroupUnit : std::uint8_t {
  kOne,    ///< one device per free group and model, the representative
  kAll,    ///< every device; the first one allocated withdraws the others
  kWhole,  ///< one id per group, for all its matching devices
};

/// The audio, USB-C and serial functions in a display controller's group.
enum class Companions : std::uint8_t {
  kHide,       ///< travel with their group
  kAdvertise,  ///< are offered, for pods that want them instead of the main function
  kAttach,     ///< are named in the main function's answer, too, and counted as tickets
};

/// Through which of the kubelet's two allocators the devices of a resource are allocated.
enum class Serve : std::uint8_t { kPlugin, kDra, kBoth };

/// A consumer that has an entry for each device asks `name` for what one id of the resource stands
/// for beside its first device (more_tickets.h).
struct MoreDevices {
  ResourceName name;      ///< counts tickets, and has the further devices' variable
  std::size_t count = 1;  ///< of one id; an id that stands for another number is not offered

  friend bool operator==(const MoreDevices&, const MoreDevices&) = default;
};

/// How the devices of one entry of `resources` are allocated.
struct AllocationSettings {
  Backend backend = Backend::kAuto;
  bool kubevirtVariable = true;  ///< PCI_RESOURCE_... in the container's environment
  GroupUnit groupUnit = GroupUnit::kOne;
  Companions companions = Companions::kHide;
  bool onAllocate = false;        ///< a bindable group is allocated, and bound in the call
  bool returnToOriginal = false;  ///< what was bound for an allocation goes back to its host driver
  bool injectCdi = false;         ///< CDI names instead of device nodes
  bool kata = false;              ///< a static CDI spec, in which Kata looks its devices up
  Serve serve = Serve::kPlugin;
  bool sriovVariable = false;  ///< PCIDEVICE_... in the container's environment
  bool besideNic = false;      ///< preferred below a PCIe root that has a free network card, too
  std::optional<MoreDevices> more{};  ///< of sets and whole groups; absent: one variable has all
  /// Of the host, mounted where KubeVirt's launcher looks for it beside devices' own nodes; empty:
  /// none.
  std::string iommufdSocket{};

  friend bool operator==(const AllocationSettings&, const AllocationSettings&) = default;
};

inline bool servesPlugin(const AllocationSettings& allocation) {
  return allocation.serve != Serve::kDra;
}
inline bool servesDra(const AllocationSettings& allocation) {
  return allocation.serve != Serve::kPlugin;
}

/// What is allocated so can have something named under another resource: its companions, its
/// further devices. KubeVirt's variables are in the answer, and all nodes.
inline bool mayAttach(const AllocationSettings& allocation) {
  return allocation.serve == Serve::kPlugin && allocation.kubevirtVariable &&
         !allocation.injectCdi && !allocation.kata;
}
inline constexpr std::string_view kAttachNeeds =
    "serve: plugin, inject: nodes, kata: false and kubevirt in env";

/// A static CDI spec names the devices of such a resource. A claim has a spec of its own.
inline bool needsSpec(const AllocationSettings& allocation) {
  return servesPlugin(allocation) && (allocation.injectCdi || allocation.kata);
}

/// One entry of `resources`.
struct ResourceSettings {
  std::optional<ResourceName> name;  ///< absent: prefix and naming rule, one resource per model
  Selector select;                   ///< not asked where there are `sets`
  AllocationSettings allocation;
  std::vector<DeviceSet> sets{};  ///< in place of `select`: each is one device of the resource
  bool setsOverlap = false;       ///< a unit of them may be in other sets, too

  friend bool operator==(const ResourceSettings&, const ResourceSettings&) = default;
};

/// How much a refusal says: its text ends in the status of a pod that may be somebody else's.
enum class RefusalDetail : std::uint8_t {
  kReference,  ///< never a holder's pod; of a bind that failed the guard that refused
  kFull,       ///< the holder's pod, namespace and UID; all of privd's words
};

/// The DRA driver that plugind is.
struct DraSettings {
  std::string driver;          ///< empty: none
  bool metadataFiles = false;  ///< in which KubeVirt finds the addresses (KEP-5304)

  friend bool operator==(const DraSettings&, const DraSettings&) = default;
};

struct Settings {
  std::string resourcePrefix = "vfiogate.dev";
  Naming naming = Naming::kVendorDevice;
  std::map<Model, ResourceName> aliases;  ///< win over `naming`
  std::vector<Selector> exclude;          ///< win over every resource
  std::vector<ResourceSettings> resources;
  std::chrono::milliseconds grace{60'000};          ///< frames stand this long without privd
  std::chrono::milliseconds allocateWait{5'000};    ///< of the first Allocate without privd
  std::chrono::milliseconds bindDeadline{5'000};    ///< of a call that has a group bound
  std::chrono::milliseconds emptyResourceAfter{0};  ///< 0: a resource without devices never ends
  std::chrono::milliseconds holdDown{30'000};       ///< 0: devices that flap do not rest
  RefusalDetail refusalDetail = RefusalDetail::kReference;
  DraSettings dra;

  friend bool operator==(const Settings&, const Settings&) = default;
};

/// It names devices, or selects them, by what pci.ids calls them, which is read at the start.
inline bool wantsProducts(const Settings& settings) {
  return settings.naming == Naming::kPciIds || !settings.dra.driver.empty() ||
         std::ranges::any_of(settings.exclude, selectsProducts) ||
         std::ranges::any_of(settings.resources,
                             [](const auto& entry) { return selectsProducts(entry.select); });
}

/// It selects some devices by their serial numbers, which the cards have to be asked for.
inline bool wantsSerials(const Settings& settings) {
  return std::ranges::any_of(settings.exclude, selectsSerials) ||
         std::ranges::any_of(settings.resources,
                             [](const auto& entry) { return selectsSerials(entry.select); });
}

/// Some resource has its devices bound when they are allocated.
inline bool bindsAny(const Settings& settings) {
  return std::ranges::any_of(settings.resources,
                             [](const auto& entry) { return entry.allocation.onAllocate; });
}

}  // namespace vfiogate
