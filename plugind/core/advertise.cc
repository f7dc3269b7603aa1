#include "plugind/core/advertise.h"

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using Shown = std::pair<ResourceName, Bdf>;

/// The like devices of a group, of which a resource shows one. A device without a group is alone.
struct LikeDevices {
  std::optional<IommuGroupId> group;
  std::optional<Bdf> alone;
  Model model;
  friend auto operator<=>(const LikeDevices&, const LikeDevices&) = default;
};

/// Everything by which devices are judged, for one advertisement.
class View {
public:
  View(const Scene& scene, const GroupLedger& ledger, const Advertisement& before)
      : scene_(scene), before_(before) {
    for (const HolderRecord& record : ledger.records()) {
      addHeld(record.resource, record.ids, record.members);
      addHeld(record.resource, record.rest, record.members);
    }
    for (const auto& [ticket, taking] : ledger.takings()) {
      for (const auto& [group, take] : taking.groups) {
        addHeld(taking.resource, take.ids, take.members);
      }
    }
    for (const auto& [resource, frame] : before.frames) {
      for (const FrameDevice& device : frame.devices) {
        if (const auto address = Bdf::parse(device.id)) home_.emplace(*address, resource);
      }
    }
  }

  const PciDevice* find(const Bdf& address) const {
    const auto found = scene_.snapshot.devices.find(address);
    return found == scene_.snapshot.devices.end() ? nullptr : &found->second;
  }

  const std::set<Shown>& held() const { return held_; }

  bool wasShown(const Shown& one) const {
    const auto home = home_.find(one.second);
    return home != home_.end() && home->second == one.first;
  }

  /// One id is never in the frames of two resources (kubelet-contract.md T37).
  bool wasShownElsewhere(const Shown& one) const {
    return home_.contains(one.second) && !wasShown(one);
  }

  bool represented(const Shown& one) const { return before_.representatives.contains(one); }

  bool isFree(const PciDevice& device) const {
    return !busy_.contains(device.address) &&
           !(device.group && busyGroups_.contains(*device.group));
  }

  /// Nothing but its holder, if it has one, keeps the device from being lent.
  bool isGood(const PciDevice& device, const LendingSettings& lending) const {
    if (!deviceNodes(scene_.snapshot, {device.address}, lending.backend)) return false;
    return scene_.snapshot.groups.at(*device.group).use != GroupUse::kOpen;
  }

private:
  void addHeld(const ResourceName& resource, const std::set<Bdf>& ids,
               const std::set<Bdf>& members) {
    for (const Bdf& id : ids) held_.emplace(resource, id);
    for (const Bdf& member : members) {
      busy_.insert(member);
      const PciDevice* device = find(member);
      if (device != nullptr && device->group) busyGroups_.insert(*device->group);
    }
  }

  const Scene& scene_;
  const Advertisement& before_;
  std::set<Shown> held_;  ///< what the kubelet believes to be held, or is about to
  std::set<Bdf> busy_;    ///< in groups that are not free
  std::set<IommuGroupId> busyGroups_;
  std::map<Bdf, ResourceName> home_;
};

/// The one of `like` (ascending) that stands for its group: a good one if there is any, the one of
/// before if it can be, one that is shown anyway rather than a new one, the lowest.
Bdf chooseRepresentative(const View& view, const ResourceName& resource,
                         const LendingSettings& lending,
                         const std::vector<const PciDevice*>& like) {
  const auto rank = [&](const PciDevice& device) {
    const Shown one{resource, device.address};
    return (view.isGood(device, lending) ? 4 : 0) + (view.represented(one) ? 2 : 0) +
           (view.wasShown(one) ? 1 : 0);
  };
  const PciDevice* best = like.front();
  for (const PciDevice* device : like) {
    if (rank(*device) > rank(*best)) best = device;
  }
  return best->address;
}

/// The representatives of a resource: one of each free group's like devices.
std::vector<Bdf> representatives(const View& view, const ResourceName& resource,
                                 const ResourceDevices& devices) {
  std::map<LikeDevices, std::vector<const PciDevice*>> sorted;
  for (const Bdf& address : devices.devices) {
    const PciDevice* device = view.find(address);
    const bool ours = device != nullptr && !view.wasShownElsewhere({resource, address});
    if (!ours || !view.isFree(*device)) continue;
    const auto alone = device->group ? std::nullopt : std::optional(address);
    const Model model{device->vendor.value_or(0), device->device.value_or(0)};
    sorted[{device->group, alone, model}].push_back(device);
  }
  std::vector<Bdf> chosen;
  for (const auto& [key, like] : sorted) {
    chosen.push_back(chooseRepresentative(view, resource, devices.lending, like));
  }
  return chosen;
}

/// The devices of one frame, by id.
using FrameList = std::map<std::string, FrameDevice>;

std::map<ResourceName, FrameList> listDevices(const View& view, const Advertisement& before,
                                              const std::set<Shown>& representatives) {
  std::map<ResourceName, FrameList> lists;
  for (const auto& [resource, frame] : before.frames) {
    for (const FrameDevice& device : frame.devices) lists[resource].emplace(device.id, device);
  }
  for (const auto* shown : {&view.held(), &representatives}) {
    for (const auto& [resource, address] : *shown) {
      const std::string id = address.str();
      lists[resource].emplace(id, FrameDevice{id, false, std::nullopt});
    }
  }
  return lists;
}

/// Health by the table of ledger.md 8. `lendable`: it stands for its group, which can be lent.
bool isHealthy(const View& view, const Shown& one, bool lendable) {
  const PciDevice* device = view.find(one.second);
  if (device == nullptr || !device->answers) return false;
  return view.held().contains(one) || lendable;
}

}  // namespace

Advertisement advertise(const Scene& scene, const GroupLedger& ledger, const Advertisement& before,
                        Lending lending) {
  const View view(scene, ledger, before);
  Advertisement next;
  std::set<Shown> lendable;
  for (const auto& [resource, devices] : scene.catalog.resources) {
    for (const Bdf& address : representatives(view, resource, devices)) {
      next.representatives.emplace(resource, address);
      const bool good = view.isGood(*view.find(address), devices.lending);
      if (good && lending == Lending::kOpen) lendable.emplace(resource, address);
    }
  }
  for (auto& [resource, list] : listDevices(view, before, next.representatives)) {
    Frame& frame = next.frames[resource];
    for (auto& [id, device] : list) {
      const Shown one{resource, *Bdf::parse(id)};
      device.healthy = isHealthy(view, one, lendable.contains(one));
      // Of a device that is gone the last word stands, so that only its health changes.
      if (const PciDevice* present = view.find(one.second)) device.numaNode = present->numaNode;
      frame.devices.push_back(device);
    }
  }
  return next;
}

}  // namespace vfiogate
