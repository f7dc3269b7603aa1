#pragma once
// The random life of a node, watched by a model that knows only parties and addresses.

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/viability.h"
#include "tests/support/lending_node.h"

namespace vfiogate::test {

/// Who has what, as an observer outside would say: told only of grants and of the hardware.
struct Party {
  std::string resource;
  std::set<Bdf> ids;        ///< of the latest grant
  std::set<Bdf> everShown;  ///< of all its grants
  std::set<Bdf> reach;      ///< every function of its groups, when it got them
};

class Life {
public:
  explicit Life(unsigned seed) : random_(seed) {
    node_.offer("device=0001", "one");
    node_.offer("device=0002", "two");
    node_.offer("class=03", "rest");
    node_.refresh();
  }

  void step() {
    switch (pick(10)) {
      case 0:
      case 1:
        return plug();
      case 2:
        return unplug();
      case 3:
        return renumber();
      case 4:
        return changeState();
      case 5:
      case 6:
        return beginAllocate();
      case 7:
        return endAllocate();
      default:
        return refresh();
    }
  }

  int grants() const { return grants_; }
  int reoffers() const { return reoffers_; }
  int refusals() const { return refusals_; }

private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  /// Twelve places, in four slots.
  std::string place() {
    return "0000:0" + std::to_string(pick(4)) + ":00." + std::to_string(pick(3));
  }
  std::uint32_t groupNumber() { return static_cast<std::uint32_t>(pick(6)); }
  static std::string resource(std::size_t index) {
    return index == 0 ? "one" : index == 1 ? "two" : "rest";
  }

  void plug() {
    PciDevice& device = node_.hardware.add(place(), groupNumber());
    device.device = static_cast<std::uint16_t>(1 + pick(3));
  }

  void unplug() {
    const std::string address = place();
    if (node_.hardware.snapshot().devices.contains(at(address))) node_.hardware.remove(address);
  }

  void renumber() {
    const std::string address = place();
    if (!node_.hardware.snapshot().devices.contains(at(address))) return;
    node_.hardware.regroup(address, groupNumber());
  }

  void changeState() {
    for (auto& [id, group] : node_.hardware.snapshot().groups) {
      group.use = pick(8) == 0 ? static_cast<GroupUse>(pick(4)) : GroupUse::kIdle;
    }
    for (auto& [address, device] : node_.hardware.snapshot().devices) {
      device.answers = pick(12) != 0;
      const bool onHost = pick(12) == 0;
      device.driver = onHost ? "nvidia" : "vfio-pci";
      device.vfioDev = onHost ? std::nullopt : std::optional<std::uint32_t>(1);
    }
  }

  void beginAllocate() {
    const std::string name = resource(pick(3));
    const auto frame = node_.shown.frames.find(resourceNamed(name));
    if (frame == node_.shown.frames.end()) return;
    // The kubelet picks Healthy devices, and sometimes works off an older frame.
    std::vector<std::string> ids;
    for (const FrameDevice& device : frame->second.devices) {
      if ((device.healthy || pick(8) == 0) && pick(2) == 0 && ids.size() <= pick(3)) {
        ids.push_back(device.id);
      }
    }
    if (ids.empty()) return;
    node_.draw = static_cast<std::uint16_t>(pick(4));
    const std::size_t open = node_.ledger.takings().size();
    const auto ticket = node_.take(name, ids);
    ASSERT_EQ(node_.ledger.takings().size(), open + (ticket ? 1 : 0)) << "all or none";
    if (!ticket) ++refusals_;
  }

  void endAllocate() {
    if (node_.ledger.takings().empty()) return;
    auto chosen = node_.ledger.takings().begin();
    std::advance(chosen, pick(node_.ledger.takings().size()));
    const auto [ticket, taking] = *chosen;
    if (pick(8) == 0) return node_.ledger.cancel(ticket);
    GroupLooks looks = node_.look(ticket);
    if (pick(8) == 0) looks.erase(looks.begin());
    const auto before = node_.ledger.records();
    const auto grant = node_.ledger.settle(ticket, looks, node_.now);
    if (grant) return granted(taking, looks);
    ++refusals_;
    ASSERT_EQ(node_.ledger.records(), before) << "all or none";
  }

  /// The model's own judgement of a grant.
  void granted(const Taking& taking, const GroupLooks& looks) {
    ++grants_;
    for (const auto& [group, take] : taking.groups) {
      Party party{taking.resource.str(), take.ids, take.ids, {}};
      const auto& members = looks.at(group).seen.groups.at(group).members;
      party.reach.insert(members.begin(), members.end());
      for (auto other = parties_.begin(); other != parties_.end();) {
        other = meetParty(party, other);
      }
      parties_.push_back(party);
    }
  }

  /// I1: another party in reach is the same one, by the kubelet's word: same resource, same device.
  std::vector<Party>::iterator meetParty(Party& fresh, std::vector<Party>::iterator other) {
    if (!shares(fresh.reach, other->reach)) return std::next(other);
    EXPECT_TRUE(other->resource == fresh.resource && shares(other->ids, fresh.ids))
        << "I1: group lent to two holders";
    ++reoffers_;
    fresh.everShown.insert(other->everShown.begin(), other->everShown.end());
    fresh.reach.insert(fresh.everShown.begin(), fresh.everShown.end());
    return parties_.erase(other);
  }

  static bool shares(const std::set<Bdf>& left, const std::set<Bdf>& right) {
    for (const Bdf& one : left) {
      if (right.contains(one)) return true;
    }
    return false;
  }

  void refresh() {
    const Advertisement before = node_.shown;
    const Lending lending = pick(6) == 0 ? Lending::kClosed : Lending::kOpen;
    node_.refresh(lending);
    checkShownStays(before);
    checkHeld();
    checkLendable(lending);
    checkBatching(before, lending);
  }

  /// I4, T5, T37: what was shown stays, in one resource.
  void checkShownStays(const Advertisement& before) {
    std::set<std::string> everywhere;
    for (const auto& [name, frame] : node_.shown.frames) {
      for (const FrameDevice& device : frame.devices) {
        EXPECT_TRUE(everywhere.insert(device.id).second) << "T37: " << device.id << " shown twice";
      }
    }
    for (const auto& [name, frame] : before.frames) {
      for (const FrameDevice& device : frame.devices) {
        EXPECT_NE(find(name.str(), device.id), nullptr) << "T5: " << device.id << " left a frame";
      }
    }
  }

  const FrameDevice* find(const std::string& name, const std::string& id) const {
    const auto frame = node_.shown.frames.find(*ResourceName::parse(name));
    if (frame == node_.shown.frames.end()) return nullptr;
    for (const FrameDevice& device : frame->second.devices) {
      if (device.id == id) return &device;
    }
    return nullptr;
  }

  /// I4: held, or being allocated: in the frame, Healthy unless the hardware itself is gone.
  void checkHeld() {
    for (const Party& party : parties_) checkHealthy(party.resource, party.everShown);
    for (const auto& [ticket, taking] : node_.ledger.takings()) {
      for (const auto& [group, take] : taking.groups) {
        checkHealthy(taking.resource.str(), take.ids);
      }
    }
  }

  void checkHealthy(const std::string& name, const std::set<Bdf>& ids) {
    for (const Bdf& id : ids) {
      const FrameDevice* device = find(name, id.str());
      ASSERT_NE(device, nullptr) << "I4: held " << id.str() << " is not in the frame";
      const auto present = node_.snapshot.devices.find(id);
      const bool there = present != node_.snapshot.devices.end() && present->second.answers;
      EXPECT_EQ(device->healthy, there) << "I4: " << id.str();
    }
  }

  bool isHeld(const std::string& name, const Bdf& id) const {
    for (const Party& party : parties_) {
      if (party.resource == name && party.everShown.contains(id)) return true;
    }
    for (const auto& [ticket, taking] : node_.ledger.takings()) {
      for (const auto& [group, take] : taking.groups) {
        if (taking.resource.str() == name && take.ids.contains(id)) return true;
      }
    }
    return false;
  }

  /// Nobody has, or is about to have, a device of the group.
  bool isFree(const std::set<Bdf>& members) const {
    for (const Party& party : parties_) {
      if (shares(party.reach, members)) return false;
    }
    return node_.ledger.holding(node_.snapshot, *members.begin()) == GroupHolding::kFree;
  }

  /// I5: allocatable less held is what could be lent, one per group and model, and can be.
  void checkLendable(Lending lending) {
    for (const auto& [name, frame] : node_.shown.frames) {
      std::size_t fresh = 0;
      for (const FrameDevice& device : frame.devices) {
        if (!device.healthy || isHeld(name.str(), at(device.id))) continue;
        ++fresh;
        GroupLedger ledger = node_.ledger;
        const auto ticket = ledger.take({name, {device.id}, frame}, {node_.snapshot, node_.catalog},
                                        {node_.now, 0});
        EXPECT_TRUE(ticket) << "I5: " << device.id << " is Healthy: " << ticket.error().text;
      }
      const std::size_t lendable = lending == Lending::kOpen ? countLendable(name.str()) : 0;
      EXPECT_EQ(fresh, lendable) << "I5: " << name.str();
    }
  }

  std::size_t countLendable(const std::string& name) const {
    const auto resource = node_.catalog.resources.find(*ResourceName::parse(name));
    if (resource == node_.catalog.resources.end()) return 0;
    std::set<std::pair<IommuGroupId, int>> lendable;
    for (const Bdf& address : resource->second.devices) {
      const PciDevice& device = node_.snapshot.devices.at(address);
      if (!device.group || !viability(node_.snapshot, address).ready()) continue;
      const IommuGroup& group = node_.snapshot.groups.at(*device.group);
      const std::set<Bdf> members(group.members.begin(), group.members.end());
      if (group.use == GroupUse::kOpen || !isFree(members) || isShownElsewhere(name, address)) {
        continue;
      }
      lendable.emplace(group.id, *device.device);
    }
    return lendable.size();
  }

  bool isShownElsewhere(const std::string& name, const Bdf& address) const {
    for (const auto& [other, frame] : node_.shown.frames) {
      if (other.str() != name && find(other.str(), address.str()) != nullptr) return true;
    }
    return false;
  }

  /// However many times and with whatever outage in between the frames are made, they are the same.
  void checkBatching(const Advertisement& before, Lending lending) {
    const Scene scene{node_.snapshot, node_.catalog};
    const auto outage = advertise(scene, node_.ledger, before, Lending::kClosed);
    EXPECT_EQ(advertise(scene, node_.ledger, outage, lending), node_.shown);
    EXPECT_EQ(advertise(scene, node_.ledger, node_.shown, lending), node_.shown);
  }

  std::minstd_rand random_;
  LendingNode node_;
  std::vector<Party> parties_;
  int grants_ = 0;
  int reoffers_ = 0;
  int refusals_ = 0;
};

}  // namespace vfiogate::test
