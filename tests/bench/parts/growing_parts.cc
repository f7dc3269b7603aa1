#include "tests/bench/parts/ledger_parts.h"
#include "tests/bench/parts/parts.h"

#include <utility>

namespace vfiogate::bench {
namespace {

using Starts = std::vector<std::pair<std::string, std::function<std::unique_ptr<Running>()>>>;

Starts onNode(const NodeShape& shape) {
  return {{"Allocate", [shape]() { return startAllocate(shape); }},
          {"change", [shape]() { return startChange(shape, 1); }},
          {"GetPreferredAllocation", [shape]() { return startPreferred(shape); }},
          {"refused Allocate", [shape]() { return startRefused(shape); }}};
}

}  // namespace

std::vector<Part> growingParts() {
  std::vector<Part> all;
  const auto add = [&all](const std::string& along, unsigned value, const Starts& starts) {
    for (const auto& [name, start] : starts) {
      all.push_back({along + "/" + std::to_string(value) + "/" + name, start});
    }
  };
  constexpr unsigned kHeld = 7;
  for (const unsigned devices : {8U, 32U, 128U, 512U, 2048U, 4096U}) {
    add("devices", devices, onNode({.devices = devices, .held = kHeld}));
  }
  constexpr unsigned kDevices = 512;
  for (const unsigned members : {1U, 2U, 4U, 8U, 16U}) {
    add("devices of a group", members,
        onNode({.devices = kDevices, .held = kHeld, .membersPerGroup = members}));
  }
  for (const unsigned resources : {1U, 2U, 4U, 8U, 16U, 32U}) {
    add("resources", resources,
        onNode({.devices = kDevices, .held = kHeld, .resources = resources}));
  }
  for (const unsigned held : {1U, 4U, 16U, 64U, 256U}) {
    add("pods with a device", held, onNode({.devices = kDevices, .held = held}));
  }
  for (const unsigned open : {1U, 2U, 4U, 8U, 16U, 32U}) {
    add("callers at once", open, onNode({.devices = kDevices, .held = kHeld, .open = open - 1}));
  }
  for (const unsigned changed : {1U, 4U, 16U, 64U, 256U}) {
    add("devices changed at once", changed,
        {{"change", [changed]() { return startChange({.devices = kDevices}, changed); }}});
  }
  return all;
}

}  // namespace vfiogate::bench
