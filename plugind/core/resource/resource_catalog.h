#pragma once
// Which resource each device of a snapshot belongs to.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/base/kube_names.h"
#include "ipc/types/snapshot.h"
#include "plugind/core/resource/companions.h"
#include "plugind/core/resource/model_names.h"
#include "plugind/core/resource/selection.h"
#include "plugind/core/resource/serial_numbers.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// The devices of one resource and how they are allocated.
struct ResourceDevices {
  AllocationSettings allocation;
  std::vector<UnitId> devices;  ///< ascending; of a resource of sets the units of all of them
  DeviceSets sets{};            ///< what it has in place of single devices, by id

  friend bool operator==(const ResourceDevices&, const ResourceDevices&) = default;
};

/// Every function and mediated device of a snapshot: in one resource, in the sets of one or
/// several, or left out.
struct ResourceCatalog {
  std::map<ResourceName, ResourceDevices> resources;
  std::map<UnitId, std::size_t> chosen;  ///< which entry of `settings.resources` took the device
  std::map<UnitId, LeftOut> leftOut;
  Tickets tickets;  ///< of those left out as companions
  /// The functions whose serial number decides where they, or their mediated devices, belong, and
  /// is not known.
  std::set<Bdf> unknownSerials{};

  friend bool operator==(const ResourceCatalog&, const ResourceCatalog&) = default;
};

/// Nothing stands against the device but that no resource of single devices has it.
bool isOnlyUnselected(const LeftOut& why);

/// True if it is configured, and the kubelet's device manager is to see it.
bool servedByPlugin(const ResourceCatalog& catalog, const ResourceName& resource);
/// True if it is configured, and claims may have its devices.
bool servedByDra(const ResourceCatalog& catalog, const ResourceName& resource);

/// The resource whose further devices are counted under that name. Null: none.
const ResourceName* resourceWithMore(const ResourceCatalog& catalog, const ResourceName& name);
/// The kubelet counts tickets under that name.
bool hasTickets(const ResourceCatalog& catalog, const ResourceName& resource);
/// All of those.
std::set<ResourceName> ticketResources(const ResourceCatalog& catalog);

/// The kubelet shall see it: for its devices or for tickets, or claims have it.
bool configures(const ResourceCatalog& catalog, const ResourceName& resource);

/// The resource that the device falls into, by itself or else in a set. Null: none.
std::optional<ResourceName> resourceOf(const ResourceCatalog& catalog, const UnitId& address);

/// The resource has it, by itself or in a set.
bool hasDevice(const ResourceCatalog& catalog, const ResourceName& resource, const UnitId& id);
bool isInSet(const ResourceCatalog& catalog, const ResourceName& resource, const std::string& set,
             const UnitId& id);
/// The resource has sets in place of single devices.
bool hasSets(const ResourceCatalog& catalog, const ResourceName& resource);
/// Some set has one of these units.
bool inAnySet(const ResourceCatalog& catalog, const std::set<UnitId>& units);

/// Of a resource with `more`, whoever asks has an entry for each device of an id: so all its ids
/// stand for one number of devices, and what stands for another one is not offered.
inline constexpr const char* kUnitSizeReason = "unit-size";
/// What keeps an id that stands for `devices` from being allocated. Null: nothing, also where the
/// resource has no `more`.
std::optional<LeftOut> barOfSize(const AllocationSettings& allocation, std::size_t devices);
/// Leaves out the devices of whole groups of another size, as the snapshot has them.
void leaveOutOtherSizes(const Snapshot& snapshot, ResourceCatalog& catalog);

/// The resource of mediated devices, or of vGPUs by an entry with the key vgpu, whose entry has no
/// name: the type's name, or its id, with '_' for what no name has. Null: not one that a kubelet
/// takes.
std::optional<ResourceName> nameOfType(const Settings& settings, std::string type);

/// Sorts the devices: exclusions first, then the first entry of `settings.resources` that matches.
/// Where the serial number decides, and is not known, the device is left out: it may be one that is
/// excluded, or belong to an entry before the one that matches whatever it is.
ResourceCatalog sortIntoResources(const Settings& settings, const Snapshot& snapshot,
                                  const ModelNames& models = ModelNames(),
                                  const SerialNumbers& serials = SerialNumbers());

}  // namespace vfiogate
