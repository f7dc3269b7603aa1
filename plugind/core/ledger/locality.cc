#include "plugind/core/ledger/locality.h"

#include <algorithm>
#include <chrono>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

constexpr std::uint32_t kNetwork = 0x02;
constexpr std::chrono::seconds kOneAdmission{1};

/// PCIe roots below which a network card is offered and free.
std::set<std::string> rootsWithNic(const LedgerState& state, const std::set<UnitId>& notFree) {
  std::set<std::string> roots;
  for (const auto& [address, device] : state.hardware.snapshot.devices) {
    const bool isNic = device.classCode && (*device.classCode >> 16) == kNetwork;
    const bool offered = state.catalog.chosen.contains(address);
    if (isNic && offered && !device.pcieRoot.empty() && !notFree.contains(address)) {
      roots.insert(device.pcieRoot);
    }
  }
  return roots;
}

Candidate candidateOf(const Snapshot& snapshot, const std::set<UnitId>& units,
                      const std::set<UnitId>& notFree) {
  const std::string root = units.empty() ? "" : pcieRootOf(snapshot, *units.begin());
  const bool below = std::ranges::all_of(
      units, [&](const UnitId& unit) { return pcieRootOf(snapshot, unit) == root; });
  return {.numaNode = commonNumaNode(snapshot, units),
          .egmRegion = std::nullopt,
          .group = std::nullopt,
          .doubtful = meet(units, notFree),
          .root = below ? root : std::string()};
}

/// The sets of a resource.
void addSets(const LedgerState& state, const DeviceSets& sets, const std::set<UnitId>& notFree,
             Locality& locality) {
  std::map<std::string, std::set<UnitId>> reach;
  for (const auto& [id, units] : sets) reach.emplace(id, reachOf(state, units));
  for (const auto& [id, units] : sets) {
    Candidate candidate = candidateOf(state.hardware.snapshot, units, notFree);
    for (const auto& [other, members] : reach) {
      if (other != id && meet(members, reach.at(id))) candidate.excludes.insert(other);
    }
    locality.candidates.emplace(id, std::move(candidate));
  }
}

}  // namespace

Locality localityOf(const LedgerState& state, const ResourceName& resource, Instant now) {
  const auto& resources = state.catalog.resources;
  const auto own = resources.find(resource);
  const bool besideNic = own != resources.end() && own->second.allocation.besideNic;
  // Those for which holdingOf() says anything but kFree.
  const std::set<UnitId> notFree = reachOf(state, engagedUnits(state));
  const auto roots = besideNic ? rootsWithNic(state, notFree) : std::set<std::string>();
  Locality locality;
  const std::vector<EgmRegion>& egm = state.hardware.snapshot.egm;
  for (const auto& [address, device] : state.hardware.snapshot.devices) {
    // The kubelet believes all of them free.
    locality.candidates.emplace(address.str(),
                                Candidate{.numaNode = device.numaNode,
                                          .egmRegion = egmRegionOf(egm, address),
                                          .group = device.group,
                                          .doubtful = notFree.contains(address),
                                          .root = device.pcieRoot,
                                          .besideNic = roots.contains(device.pcieRoot)});
  }
  for (const auto& [uuid, device] : state.hardware.snapshot.mediated) {
    const std::string root = pcieRootOf(state.hardware.snapshot, uuid);
    locality.candidates.emplace(uuid.str(), Candidate{.numaNode = device.numaNode,
                                                      .egmRegion = std::nullopt,
                                                      .group = device.group,
                                                      .doubtful = notFree.contains(uuid),
                                                      .root = root,
                                                      .besideNic = roots.contains(root)});
  }
  if (own != resources.end()) addSets(state, own->second.sets, notFree, locality);
  if (!std::ranges::any_of(resources,
                           [](const auto& each) { return each.second.allocation.besideNic; })) {
    return locality;
  }
  for (const HolderRecord& record : state.records) {
    if (record.state != HolderState::kAnswered || record.isClaim()) continue;
    if (record.resource == resource || now - record.since > kOneAdmission) continue;
    for (const UnitId& id : record.ids) locality.beside.insert(id.str());
  }
  return locality;
}

}  // namespace vfiogate
