#include "plugind/core/ledger/answer.h"

#include <algorithm>
#include <sstream>

#include "ipc/types/hex.h"
#include "plugind/core/ledger/offers.h"

namespace vfiogate {
namespace {

/// "0000:65:00.0 10de:2684" of each device: what stays the same over a reboot.
std::string hardwarePart(const std::string& fingerprint) {
  std::istringstream devices(fingerprint);
  std::string kept;
  for (std::string device; std::getline(devices, device, ';');) {
    kept += device.substr(0, device.find(" g")) + ";";
  }
  return kept;
}

}  // namespace

HardwareFacts lookedAt(const HardwareFacts& hardware, const Take& take) {
  HardwareFacts facts{.snapshot = take.look->seen,
                      .bindable = {},
                      .binding = {},
                      .operatorHeld = hardware.operatorHeld,
                      .boundForLending = hardware.boundForLending,
                      .bootId = hardware.bootId};
  facts.snapshot.controlNode = hardware.snapshot.controlNode;
  facts.snapshot.iommufdNode = hardware.snapshot.iommufdNode;
  return facts;
}

Result<AllocationResponse, Bar> answerOf(const LedgerState& state, const Call& call) {
  HardwareFacts all = lookedAt(state.hardware, call.groups.begin()->second);
  std::map<ResourceName, std::set<Bdf>> asked;
  for (const auto& [group, take] : call.groups) {
    all.snapshot.devices.insert(take.look->seen.devices.begin(), take.look->seen.devices.end());
    all.snapshot.groups.insert(take.look->seen.groups.begin(), take.look->seen.groups.end());
    asked[take.resource].insert(take.ids.begin(), take.ids.end());
  }
  AllocationResponse response;
  std::set<Bdf> everything;
  for (const auto& [resource, ids] : asked) {
    const LendingSettings lending = lendingOf(state, resource);
    const auto part = allocationResponse(all.snapshot, resource, ids, lending);
    if (!part) return Failure{part.error()};
    const auto nodes =
        deviceNodes(all.snapshot, handedOver(all, state.catalog, resource, ids), lending.backend);
    if (!nodes) return Failure{nodes.error()};
    for (const std::string& node : *nodes) {
      const bool known = std::ranges::find(response.nodes, node) != response.nodes.end();
      if (!known) response.nodes.push_back(node);
    }
    response.environment.insert(part->environment.begin(), part->environment.end());
    everything.insert(ids.begin(), ids.end());
  }
  response.annotations.emplace(kLentAnnotation, fingerprintOf(all, everything));
  return response;
}

std::string fingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids) {
  std::string text;
  for (const Bdf& id : ids) {
    const auto found = hardware.snapshot.devices.find(id);
    text += id.str();
    if (found == hardware.snapshot.devices.end()) {
      text += " gone;";
      continue;
    }
    const PciDevice& device = found->second;
    text += " " + hexDigits(device.vendor.value_or(0), 4) + ":" +
            hexDigits(device.device.value_or(0), 4);
    text += " g" + (device.group ? std::to_string(device.group->number()) : "-");
    text += " v" + (device.vfioDev ? std::to_string(*device.vfioDev) : "-");
    text += " b" + hardware.bootId + ";";
  }
  return text;
}

Sameness compareFingerprints(const std::string& lent, const std::string& present) {
  if (lent == present) return Sameness::kSame;
  // Another boot alone changes no number that a container was given.
  const auto numbers = [](const std::string& text) {
    std::istringstream devices(text);
    std::string kept;
    for (std::string device; std::getline(devices, device, ';');) {
      kept += device.substr(0, device.find(" b")) + ";";
    }
    return kept;
  };
  if (numbers(lent) == numbers(present)) return Sameness::kSame;
  return hardwarePart(lent) == hardwarePart(present) ? Sameness::kOtherNumbers
                                                     : Sameness::kOtherHardware;
}

}  // namespace vfiogate
