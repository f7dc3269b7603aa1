#include "plugind/core/dra/claim_request.h"

#include <algorithm>
#include <string_view>

#include "ipc/types/units.h"
#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/rows/rows.h"

namespace vfiogate {
namespace {

/// Of "pci0000:17"; null: not known.
std::optional<Bdf> rootBus(const std::string& pcieRoot) {
  constexpr std::string_view kBegin = "pci";
  if (!pcieRoot.starts_with(kBegin)) return std::nullopt;
  const auto bus = Bdf::parse(pcieRoot.substr(kBegin.size()) + ":00.0");
  return bus ? std::optional(*bus) : std::nullopt;
}

}  // namespace

ClaimSpec claimSpecOf(const LedgerState& state, const Call& prepare, const AllocatedClaim& claim,
                      const DraSettings& dra) {
  const PrepareRequest& request = *prepare.prepare;
  const HardwareFacts hardware = allReread(state, prepare);
  ClaimSpec spec{.driver = dra.driver,
                 .uid = request.claim.uid,
                 .claimNamespace = request.claim.claimNamespace,
                 .name = request.claim.name,
                 .devices = {},
                 .metadata = dra.metadataFiles,
                 .podClaimName = claim.podClaimName,
                 .pool = claim.devices.empty() ? "" : claim.devices.front().pool};
  for (const auto& [resource, ids] : request.devices) {
    for (const UnitId& id : ids) {
      const auto set = request.sets.find(id);
      const std::string device =
          set == request.sets.end() ? deviceName(id) : setDeviceName(set->second);
      const auto named = std::ranges::find(claim.devices, device, &AllocatedDevice::device);
      spec.devices.push_back(
          {.address = id,
           .resource = resource.str(),
           .backend = allocationToClaim(state.catalog, request, resource, id).backend,
           .hands = handedOver(hardware, state.catalog, resource, {id}),
           .request = named == claim.devices.end() ? "" : requestName(named->request),
           .root = rootBus(pcieRootOf(state.hardware.snapshot, id)),
           .numaNode = numaNodeOf(state.hardware.snapshot, id)});
    }
  }
  std::ranges::sort(spec.devices, {}, &ClaimDevice::address);
  return spec;
}

}  // namespace vfiogate
