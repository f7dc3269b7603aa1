#include "plugind/core/resource/allocation_response.h"

#include <algorithm>
#include <utility>

#include "plugind/core/resource/static_specs.h"

namespace vfiogate {
namespace {

std::string variableOf(std::string variable, const ResourceName& resource) {
  for (const char c : resource.str()) {
    if (c == '/' || c == '.') {
      variable += '_';
    } else {
      variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return variable;
}

/// "0000:01:00.0,0000:02:00.0", of the functions among `ids`; empty: there are none.
std::string addressesOf(const std::set<UnitId>& ids) {
  std::string addresses;
  for (const UnitId& id : ids) {
    if (id.address() != nullptr) addresses += (addresses.empty() ? "" : ",") + id.str();
  }
  return addresses;
}

/// Names the device in KubeVirt's variable of the resource. Error: it cannot be named there.
std::optional<Bar> nameForKubevirt(const ResourceName& resource, const UnitId& id,
                                   AllocationResponse& response) {
  if (!kubevirtAccepts(id)) {
    return Bar{"segment", "KubeVirt takes no segment above 16 bit: set env: [none]"};
  }
  const auto kind = id.uuid() == nullptr ? DeviceKind::kFunction : DeviceKind::kMediated;
  std::string& names = response.environment[kubevirtVariable(resource, kind)];
  names += (names.empty() ? "" : ",") + id.str();
  return std::nullopt;
}

/// A context of iommufd is of use to who is handed devices' own nodes. KubeVirt gives mediated
/// devices none.
std::vector<Mount> mountsFor(const std::vector<std::string>& nodes, const std::set<UnitId>& handed,
                             const std::string& socket) {
  const std::string own = pathOf({.kind = SpecNode::Kind::kIommufd});
  const bool mediated =
      std::ranges::any_of(handed, [](const UnitId& unit) { return unit.uuid() != nullptr; });
  const bool wanted = !socket.empty() && !mediated && std::ranges::find(nodes, own) != nodes.end();
  return wanted ? std::vector<Mount>{{socket, kLauncherIommufdSocket}} : std::vector<Mount>();
}

}  // namespace

std::string kubevirtVariable(const ResourceName& resource, DeviceKind kind) {
  return variableOf(kind == DeviceKind::kMediated ? "MDEV_PCI_RESOURCE_" : "PCI_RESOURCE_",
                    resource);
}

std::string sriovVariable(const ResourceName& resource) {
  return variableOf("PCIDEVICE_", resource);
}

bool kubevirtAccepts(const UnitId& address) {
  return address.address() == nullptr || address.address()->segment() <= 0xffff;
}

Result<AllocationResponse, Bar> allocationResponse(const Snapshot& snapshot,
                                                   const ResourceName& resource,
                                                   const std::set<UnitId>& ids,
                                                   const std::set<UnitId>& handed,
                                                   const AllocationSettings& allocation,
                                                   const OrderedUnits& units) {
  auto nodes = deviceNodes(snapshot, handed, allocation.backend);
  if (!nodes) return Failure{nodes.error()};
  AllocationResponse response;
  response.mounts = mountsFor(*nodes, handed, allocation.iommufdSocket);
  if (allocation.injectCdi) {
    for (const UnitId& address : ids) response.cdiDevices.push_back(cdiName(resource, address));
  } else {
    response.nodes = *std::move(nodes);
  }
  if (allocation.sriovVariable) {
    std::string addresses = addressesOf(ids);
    if (!addresses.empty()) {
      response.environment.emplace(sriovVariable(resource), std::move(addresses));
    }
  }
  if (!allocation.kubevirtVariable) return response;
  if (!allocation.more) {
    for (const UnitId& id : ids) {
      if (auto bar = nameForKubevirt(resource, id, response)) return Failure{*std::move(bar)};
    }
    return response;
  }
  for (const std::vector<UnitId>& unit : units) {
    const ResourceName* place = &resource;
    for (const UnitId& id : unit) {
      if (auto bar = nameForKubevirt(*place, id, response)) return Failure{*std::move(bar)};
      place = &allocation.more->name;
    }
  }
  return response;
}

}  // namespace vfiogate
