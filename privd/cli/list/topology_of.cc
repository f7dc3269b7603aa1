#include "privd/cli/list/topology_of.h"

#include "cli/table.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

std::optional<std::uint32_t> groupOf(const PciDevice& device) {
  if (!device.group) return std::nullopt;
  return device.group->number();
}

/// Builds one tree; each function becomes a place if it is a bridge, otherwise a device.
class Builder {
public:
  explicit Builder(const TreeFacts& facts) : facts_(facts) {
    for (const auto& [address, device] : devices()) {
      const auto parent = parentOf(address);
      if (parent) below_[*parent].push_back(address);
    }
  }

  Topology build() {
    // By NUMA node, those that the kernel does not place last, and by root complex.
    std::map<std::pair<std::uint64_t, std::string>, TopologyPlace> roots;
    for (const auto& [address, device] : devices()) {
      if (parentOf(address)) continue;
      const auto node = nodeOf(address, 0);
      TopologyPlace& root = roots[{node ? *node : kNoNode, jsonText(device.pcieRoot)}];
      add(root, address, 0);
    }
    Topology topology;
    for (auto& [key, root] : roots) addRoot(topology, key.first, key.second, std::move(root));
    addWords(topology);
    return topology;
  }

private:
  static constexpr std::uint64_t kNoNode = ~std::uint64_t{0};
  /// No machine has more; a circle of links would.
  static constexpr unsigned kDeepest = 32;

  const std::map<Bdf, PciDevice>& devices() const { return facts_.view.snapshot.devices; }

  /// A bridge that is there.
  std::optional<Bdf> parentOf(const Bdf& address) const {
    const auto parent = facts_.parents.find(address);
    if (parent == facts_.parents.end()) return std::nullopt;
    const auto device = devices().find(parent->second);
    if (device == devices().end() || isEndpoint(device->second)) return std::nullopt;
    return parent->second;
  }

  /// Its own, or the first that one behind it has.
  std::optional<std::uint32_t> nodeOf(const Bdf& address, unsigned depth) const {
    if (const auto& own = devices().at(address).numaNode) return own;
    const auto children = below_.find(address);
    if (children == below_.end() || depth >= kDeepest) return std::nullopt;
    for (const Bdf& child : children->second) {
      if (const auto node = nodeOf(child, depth + 1)) return node;
    }
    return std::nullopt;
  }

  void add(TopologyPlace& place, const Bdf& address, unsigned depth) {
    const PciDevice& device = devices().at(address);
    if (isEndpoint(device)) {
      addDevice(place, device);
    } else if (depth < kDeepest) {
      place.below.push_back(bridge(device, depth));
    }
  }

  TopologyPlace bridge(const PciDevice& device, unsigned depth) {
    TopologyPlace place;
    place.title = device.address.str();
    place.group = groupOf(device);
    const auto children = below_.find(device.address);
    if (children != below_.end()) {
      for (const Bdf& child : children->second) add(place, child, depth + 1);
    }
    sortByGroup(place);
    const bool isSwitch = depth % 2 == 1 && !place.below.empty();
    place.text = depth == 0 ? "root port" : isSwitch ? "switch" : depth == 1 ? "bridge" : "port";
    place.text += ", " + jsonText(facts_.view.briefName(device));
    return place;
  }

  void addDevice(TopologyPlace& place, const PciDevice& device) {
    const Snapshot& snapshot = facts_.view.snapshot;
    TopologyDevice shown{.address = device.address.str(),
                         .name = jsonText(facts_.view.briefName(device)),
                         .driver = jsonText(device.driver),
                         .state = stateOf(snapshot, device),
                         .holder = {},
                         .reason = {},
                         .mark = Mark::kFree,
                         .group = groupOf(device)};
    shown.mark = markOf(shown.state);
    if (!isShown(facts_.filter, snapshot, device)) {
      if (shown.mark == Mark::kMachine) ++leftOut_;
      return;
    }
    shown.reason = jsonText(whyOf(snapshot, device));
    const auto holder = facts_.holders.devices.find(device.address);
    if (holder != facts_.holders.devices.end()) {
      shown.holder = wordsFor(holder->second);
      if (shown.mark == Mark::kFree) shown.mark = Mark::kHeld;
    }
    if (shown.mark == Mark::kFree) ++free_;
    place.devices.push_back(std::move(shown));
  }

  static void sortByGroup(TopologyPlace& place) {
    std::ranges::stable_sort(place.devices, {}, &TopologyDevice::group);
  }

  static std::size_t placesIn(const TopologyPlace& place) {
    std::size_t count = place.below.size();
    for (const TopologyPlace& each : place.below) count += placesIn(each);
    return count;
  }

  void addRoot(Topology& topology, std::uint64_t node, const std::string& name,
               TopologyPlace root) {
    sortByGroup(root);
    root.title = name.empty() ? "PCI" : name;
    if (!facts_.filter.all) {
      const std::size_t before = placesIn(root);
      dropEmptyPlaces(root);
      leftOut_ += before - placesIn(root);
      if (root.devices.empty() && root.below.empty()) return;
    }
    const std::string title =
        node == kNoNode ? "NUMA node not known" : "NUMA node " + std::to_string(node);
    if (topology.nodes.empty() || topology.nodes.back().title != title) {
      topology.nodes.emplace_back().title = title;
    }
    topology.nodes.back().below.push_back(std::move(root));
  }

  void addWords(Topology& topology) const {
    topology.summary = counted(devices().size(), "PCI function") + ", " +
                       counted(facts_.view.snapshot.groups.size(), "IOMMU group") + ", " +
                       std::to_string(free_) + " can be passed through now";
    if (leftOut_ > 0) {
      topology.remarks.push_back("Left out, and shown by --all: " + std::to_string(leftOut_) +
                                 ", parts of the machine and bridges with nothing behind them");
    }
    if (!facts_.view.problem.empty()) {
      topology.remarks.push_back("What is excluded is not known: " + jsonText(facts_.view.problem));
    }
    if (!facts_.view.changesProblem.empty() && facts_.holders.problem.empty()) {
      topology.remarks.push_back("Which changes run is not known: " +
                                 jsonText(facts_.view.changesProblem));
    }
    if (!facts_.holders.problem.empty()) {
      topology.remarks.push_back("Who has what is not known: " + jsonText(facts_.holders.problem));
    }
  }

  TreeFacts facts_;
  std::map<Bdf, std::vector<Bdf>> below_;
  std::size_t leftOut_ = 0;
  std::size_t free_ = 0;
};

}  // namespace

std::optional<Bdf> parentIn(std::string_view place) {
  const std::size_t last = place.rfind('/');
  if (last == std::string_view::npos) return std::nullopt;
  place = place.substr(0, last);
  const auto parent = Bdf::parse(place.substr(place.rfind('/') + 1));
  if (!parent) return std::nullopt;
  return *parent;
}

Parents readParents(const SysfsRoot& sysfs, const Snapshot& snapshot) {
  Parents parents;
  for (const auto& [address, device] : snapshot.devices) {
    const auto place = sysfs.link(std::string(kPciDevices) + "/" + address.str());
    if (!place) continue;
    if (const auto parent = parentIn(*place)) parents.emplace(address, *parent);
  }
  return parents;
}

Topology topologyOf(const TreeFacts& facts) {
  return Builder(facts).build();
}

}  // namespace vfiogate
