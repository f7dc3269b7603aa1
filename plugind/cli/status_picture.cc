#include "plugind/cli/ask.h"

#include "cli/table.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace vfiogate {
namespace {

using nlohmann::json;

std::string wordAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::optional<std::uint32_t> countAt(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::uint32_t>();
}

std::string holderWords(const json& holder) {
  const std::string claim = wordAt(holder, "claim");
  std::string who = claim.empty() ? wordAt(holder, "pod") : "claim " + claim;
  if (who.empty()) who = "a pod not named yet, ref=" + wordAt(holder, "ref");
  return who + " since " + datedText(wordAt(holder, "since"));
}

std::string holdersWords(const json& device) {
  std::string text;
  const auto holders = device.find("holders");
  if (holders == device.end()) return text;
  for (const json& holder : *holders) text += (text.empty() ? "" : ", ") + holderWords(holder);
  return text;
}

/// Its group's state says who has it; of a free one, what keeps it from being offered.
void addState(const json& device, TopologyDevice& shown) {
  constexpr std::array<std::string_view, 5> kHeld{"taking", "answered", "allocated", "forgotten",
                                                  "lingering"};
  const std::string hardware = wordAt(device, "hardware");
  const std::string reason = wordAt(device, "reason");
  shown.state = wordAt(device, "state");
  if (std::ranges::find(kHeld, shown.state) != kHeld.end()) {
    shown.mark = Mark::kHeld;
  } else if (hardware != "ready") {
    shown.mark = markOf(hardware);
    shown.reason = wordAt(device, "hardwareText");
    shown.state += ", " + hardware;
  } else if (shown.state != "free" || reason != "offered") {
    shown.mark = Mark::kBarred;
    shown.reason = wordAt(device, "reasonText");
    if (!reason.empty() && reason != shown.state) shown.state += ", " + reason;
  }
}

TopologyDevice deviceOf(const json& device, const std::string& resource) {
  TopologyDevice shown{.address = wordAt(device, "address"),
                       .name = wordAt(device, "model") + " " + resource,
                       .driver = wordAt(device, "driver"),
                       .state = {},
                       .holder = holdersWords(device),
                       .reason = {},
                       .mark = Mark::kFree,
                       .group = countAt(device, "group")};
  addState(device, shown);
  return shown;
}

}  // namespace

Topology topologyOf(const json& status) {
  constexpr std::uint64_t kNoNode = ~std::uint64_t{0};
  std::map<std::uint64_t, TopologyPlace> nodes;  // those that the kernel does not name come last
  std::size_t devices = 0;
  std::size_t free = 0;
  for (const json& resource : status.at("resources")) {
    for (const json& device : resource.at("devices")) {
      const auto number = countAt(device, "numaNode");
      TopologyPlace& node = nodes[number ? *number : kNoNode];
      node.title = number ? "NUMA node " + std::to_string(*number) : "NUMA node not known";
      node.devices.push_back(deviceOf(device, wordAt(resource, "name")));
      ++devices;
      if (node.devices.back().mark == Mark::kFree) ++free;
    }
  }
  Topology topology;
  for (auto& [number, node] : nodes) {
    std::ranges::sort(node.devices, {}, [](const TopologyDevice& device) {
      return std::pair(device.group, device.address);
    });
    topology.nodes.push_back(std::move(node));
  }
  topology.summary = counted(status.at("resources").size(), "resource") + ", " +
                     counted(devices, "device") + ", " + std::to_string(free) + " free at " +
                     datedText(wordAt(status, "time"));
  for (const json& group : status.at("gone")) {
    topology.remarks.push_back("gone while allocated: " + group.at("members").dump() + ", " +
                               holdersWords(group));
  }
  if (const std::size_t leftOut = status.at("leftOut").size(); leftOut > 0) {
    topology.remarks.push_back(counted(leftOut, "device") + (leftOut == 1 ? " falls" : " fall") +
                               " into no resource: plugind explain ADDRESS says why");
  }
  return topology;
}

}  // namespace vfiogate
