#include "plugind/core/ledger/frames/offers.h"

#include <algorithm>

namespace vfiogate {
namespace {

/// How far V is from being allocated, for the worst of several.
int rankOf(Readiness readiness) {
  switch (readiness) {
    case Readiness::kReady:
      return 0;
    case Readiness::kBindable:
      return 1;
    case Readiness::kBinding:
      return 2;
    case Readiness::kBad:
      return 3;
    case Readiness::kGone:
      return 4;
  }
  return 4;
}

}  // namespace

AllocationSettings allocationToClaim(const ResourceCatalog& catalog, const PrepareRequest& request,
                                     const ResourceName& resource, const UnitId& id) {
  const auto configured = catalog.resources.find(resource);
  AllocationSettings allocation =
      configured == catalog.resources.end() ? AllocationSettings{} : configured->second.allocation;
  const auto wanted = request.parameters.find(id);
  if (wanted == request.parameters.end()) return allocation;
  const bool choice = wanted->second.vfio == Backend::kAuto;
  const bool chosen = choice && allocation.backend == Backend::kAutoIommufd;
  if (wanted->second.vfio && !chosen) allocation.backend = *wanted->second.vfio;
  if (wanted->second.bindNever) allocation.onAllocate = false;
  return allocation;
}

GroupReadiness judgeForClaim(const HardwareFacts& facts, const ResourceCatalog& catalog,
                             const PrepareRequest& request, const std::set<UnitId>& ids,
                             HeldBy held) {
  GroupReadiness worst;
  for (const auto& [resource, devices] : request.devices) {
    for (const UnitId& id : devices) {
      if (!ids.contains(id)) continue;
      GroupReadiness judged =
          judgeHardware(facts, handedOver(facts, catalog, resource, {id}),
                        allocationToClaim(catalog, request, resource, id), held);
      if (rankOf(judged.readiness) > rankOf(worst.readiness)) worst = std::move(judged);
    }
  }
  return worst;
}

Result<std::vector<std::string>, Bar> nodesForClaim(const HardwareFacts& facts,
                                                    const ResourceCatalog& catalog,
                                                    const PrepareRequest& request) {
  std::vector<std::string> nodes;
  for (const auto& [resource, devices] : request.devices) {
    for (const UnitId& id : devices) {
      const auto allocation = allocationToClaim(catalog, request, resource, id);
      const auto part = deviceNodes(facts.snapshot, handedOver(facts, catalog, resource, {id}),
                                    allocation.backend);
      if (!part) return Failure{part.error()};
      for (const std::string& node : *part) {
        if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
      }
    }
  }
  return nodes;
}

}  // namespace vfiogate
