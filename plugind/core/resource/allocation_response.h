#pragma once
// What an allocation puts into the container.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ipc/base/kube_names.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// A path of the host's, and where it is in the container, for reading and writing.
struct Mount {
  std::string host;
  std::string container;

  friend bool operator==(const Mount&, const Mount&) = default;
};

/// Where KubeVirt's launcher looks for the socket that hands it a context of /dev/iommu. Source:
/// KubeVirt pkg/virt-handler/device-manager/iommufd_device.go.
inline constexpr const char* kLauncherIommufdSocket = "/var/run/kubevirt/iommufd.sock";

/// The answer to one container's Allocate. Each node has the same path on the host and in the
/// container, and permissions "mrw".
struct AllocationResponse {
  std::vector<std::string> nodes;
  std::vector<std::string> cdiDevices;  ///< names for the runtime, instead of nodes
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> annotations;  ///< the kubelet keeps them in its checkpoint
  std::vector<Mount> mounts;                       ///< each container path once

  friend bool operator==(const AllocationResponse&, const AllocationResponse&) = default;
};

/// As what KubeVirt asks for a device: a PCI host device, or a mediated device.
enum class DeviceKind : std::uint8_t { kFunction, kMediated };

/// The variable in which KubeVirt's launcher looks for the addresses or UUIDs of a resource:
/// "PCI_RESOURCE_" or "MDEV_PCI_RESOURCE_" and the upper-cased name, '/' and '.' turned into '_'.
/// Source: KubeVirt pkg/util/util.go (ResourceNameToEnvVar).
std::string kubevirtVariable(const ResourceName& resource, DeviceKind kind);

/// The variable in which containers that use the SR-IOV network device plugin look, such as those
/// of DPDK: "PCIDEVICE_" and the same. Source: k8snetworkplumbingwg/sriov-network-device-plugin,
/// pkg/resources/server.go (getEnvs).
std::string sriovVariable(const ResourceName& resource);

/// False for segments above 16 bit: KubeVirt refuses the VM that names one.
bool kubevirtAccepts(const UnitId& address);

/// The devices of each unit in their order: what its first address is, and which follow.
using OrderedUnits = std::vector<std::vector<UnitId>>;

/// The answer that allocates `ids`, exactly one per unit in the variable of its kind, ascending; of
/// a mediated device there is none for SR-IOV. The nodes are those of `handed`: `ids`, and what
/// goes along with them. Where the resource has `more`, KubeVirt's variables are made of `units`:
/// the first of each in the resource's own, the others in that of `more`, in the same order. The
/// launcher's socket is there where /dev/iommu is among the nodes and no mediated device is. Error:
/// the bar of the first device that cannot be allocated.
Result<AllocationResponse, Bar> allocationResponse(const Snapshot& snapshot,
                                                   const ResourceName& resource,
                                                   const std::set<UnitId>& ids,
                                                   const std::set<UnitId>& handed,
                                                   const AllocationSettings& allocation,
                                                   const OrderedUnits& units = {});

}  // namespace vfiogate
