#include "plugind/core/ledger/answer.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "ipc/types/hex.h"
#include "plugind/core/ledger/offers.h"

namespace vfiogate {
namespace {

/// One device of a fingerprint.
struct Print {
  std::string hardware;  ///< "0000:65:00.0 10de:2684": what stays the same over a reboot
  std::string group;
  std::string node;  ///< "-": none, or not handed out
};

/// Another boot alone changes no number that a container was given: it is left out.
std::vector<Print> printsOf(const std::string& fingerprint) {
  std::vector<Print> prints;
  std::istringstream devices(fingerprint);
  for (std::string device; std::getline(devices, device, ';');) {
    const auto group = device.find(" g");
    const auto node = device.find(" v");
    const auto boot = device.find(" b");
    Print print{.hardware = device.substr(0, group), .group = {}, .node = {}};
    if (group < node && node < boot && boot != std::string::npos) {
      print.group = device.substr(group + 2, node - group - 2);
      print.node = device.substr(node + 2, boot - node - 2);
    }
    prints.push_back(std::move(print));
  }
  return prints;
}

std::string printOf(const HardwareFacts& hardware, const Bdf& id,
                    const std::function<bool(std::uint32_t)>& wasHandedOut) {
  const auto found = hardware.snapshot.devices.find(id);
  if (found == hardware.snapshot.devices.end()) return id.str() + " gone;";
  const PciDevice& device = found->second;
  const bool node = device.vfioDev && wasHandedOut(*device.vfioDev);
  return id.str() + " " + hexDigits(device.vendor.value_or(0), 4) + ":" +
         hexDigits(device.device.value_or(0), 4) + " g" +
         (device.group ? std::to_string(device.group->number()) : "-") + " v" +
         (node ? std::to_string(*device.vfioDev) : "-") + " b" + hardware.bootId + ";";
}

}  // namespace

HardwareFacts lookedAt(const HardwareFacts& hardware, const Take& take) {
  HardwareFacts facts{.snapshot = take.look->seen,
                      .bindable = {},
                      .binding = {},
                      .operatorHeld = hardware.operatorHeld,
                      .boundForLending = hardware.boundForLending,
                      .bootId = hardware.bootId,
                      .specs = hardware.specs};
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
    auto handed =
        deviceNodes(all.snapshot, handedOver(all, state.catalog, resource, ids), lending.backend);
    if (!handed) return Failure{handed.error()};
    std::vector<std::string> nodes = *std::move(handed);
    const bool forClaim = call.kind == CallKind::kPrepare;
    if (!forClaim && needsSpec(lending)) {
      if (auto bar = barFromSpecs(all, state.catalog, resource, ids)) return Failure{*bar};
    }
    if (!forClaim && lending.injectCdi) {
      response.cdiDevices.insert(response.cdiDevices.end(), part->cdiDevices.begin(),
                                 part->cdiDevices.end());
      nodes.clear();
    }
    for (const std::string& node : nodes) {
      const bool known = std::ranges::find(response.nodes, node) != response.nodes.end();
      if (!known) response.nodes.push_back(node);
    }
    response.environment.insert(part->environment.begin(), part->environment.end());
    everything.insert(ids.begin(), ids.end());
  }
  response.annotations.emplace(kLentAnnotation, lentFingerprintOf(all, everything, response.nodes));
  return response;
}

std::optional<Bar> barFromSpecs(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                                const ResourceName& resource, const std::set<Bdf>& ids) {
  const auto found = catalog.resources.find(resource);
  const Backend backend =
      found == catalog.resources.end() ? Backend::kAuto : found->second.lending.backend;
  for (const Bdf& id : ids) {
    const auto nodes =
        deviceNodes(hardware.snapshot, handedOver(hardware, catalog, resource, {id}), backend);
    if (!nodes) return nodes.error();
    if (auto bar = barFromSpec(hardware.specs, resource, id, *nodes)) return bar;
  }
  return std::nullopt;
}

std::string fingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids) {
  std::string text;
  for (const Bdf& id : ids) text += printOf(hardware, id, [](std::uint32_t) { return true; });
  return text;
}

std::string lentFingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids,
                              const std::vector<std::string>& nodes) {
  std::string text;
  for (const Bdf& id : ids) {
    text += printOf(hardware, id, [&nodes](std::uint32_t number) {
      const std::string path = "/dev/vfio/devices/vfio" + std::to_string(number);
      return std::ranges::find(nodes, path) != nodes.end();
    });
  }
  return text;
}

std::string fingerprintPart(const std::string& fingerprint, const std::set<Bdf>& ids) {
  std::string part;
  std::istringstream devices(fingerprint);
  for (std::string device; std::getline(devices, device, ';');) {
    const auto address = Bdf::parse(device.substr(0, device.find(' ')));
    if (address && ids.contains(*address)) part += device + ";";
  }
  return part;
}

Sameness compareFingerprints(const std::string& lent, const std::string& present) {
  std::vector<Print> then = printsOf(lent);
  std::vector<Print> now = printsOf(present);
  for (auto* prints : {&then, &now}) std::ranges::sort(*prints, {}, &Print::hardware);
  if (!std::ranges::equal(then, now, {}, &Print::hardware, &Print::hardware)) {
    return Sameness::kOtherHardware;
  }
  const bool same = std::ranges::equal(then, now, [](const Print& old, const Print& young) {
    return old.group == young.group && (old.node == "-" || old.node == young.node);
  });
  return same ? Sameness::kSame : Sameness::kOtherNumbers;
}

}  // namespace vfiogate
