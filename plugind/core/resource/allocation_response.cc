#include "plugind/core/resource/allocation_response.h"

#include "plugind/core/resource/static_specs.h"

namespace vfiogate {

std::string kubevirtVariable(const ResourceName& resource, DeviceKind kind) {
  std::string variable = kind == DeviceKind::kMediated ? "MDEV_PCI_RESOURCE_" : "PCI_RESOURCE_";
  for (const char c : resource.str()) {
    if (c == '/' || c == '.') {
      variable += '_';
    } else {
      variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return variable;
}

bool kubevirtAccepts(const UnitId& address) {
  return address.address() == nullptr || address.address()->segment() <= 0xffff;
}

Result<AllocationResponse, Bar> allocationResponse(const Snapshot& snapshot,
                                                   const ResourceName& resource,
                                                   const std::set<UnitId>& ids,
                                                   const std::set<UnitId>& handed,
                                                   const AllocationSettings& allocation) {
  auto nodes = deviceNodes(snapshot, handed, allocation.backend);
  if (!nodes) return Failure{nodes.error()};
  AllocationResponse response;
  if (allocation.injectCdi) {
    for (const UnitId& address : ids) response.cdiDevices.push_back(cdiName(resource, address));
  } else {
    response.nodes = *std::move(nodes);
  }
  if (!allocation.kubevirtVariable) return response;
  for (const UnitId& address : ids) {
    if (!kubevirtAccepts(address)) {
      return Failure{Bar{"segment", "KubeVirt takes no segment above 16 bit: set env: [none]"}};
    }
    const auto kind = address.uuid() == nullptr ? DeviceKind::kFunction : DeviceKind::kMediated;
    std::string& names = response.environment[kubevirtVariable(resource, kind)];
    names += (names.empty() ? "" : ",") + address.str();
  }
  return response;
}

}  // namespace vfiogate
