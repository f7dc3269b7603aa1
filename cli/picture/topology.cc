#include "cli/picture/topology.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

bool isOneOf(std::string_view code, const auto& codes) {
  return std::ranges::find(codes, code) != codes.end();
}

constexpr std::array<std::string_view, 2> kFreeCodes{"passable", "ready"};
constexpr std::array<std::string_view, 2> kMachineCodes{"bridge", "platform"};
constexpr std::array<std::string_view, 4> kHostCodes{"host-driver", "no-driver",
                                                     "member-on-host-driver", "bindable"};
constexpr std::array<std::string_view, 5> kFaultyCodes{
    "unreadable", "not-answering", "being-unbound", "member-being-unbound", "write-stuck"};

}  // namespace

std::string_view meaningOf(Mark mark) {
  switch (mark) {
    case Mark::kFree:
      return "can be passed through";
    case Mark::kHeld:
      return "allocated or open";
    case Mark::kHost:
      return "on a host driver, or on none";
    case Mark::kBarred:
      return "not to be passed through";
    case Mark::kFaulty:
      return "faulty or stuck";
    case Mark::kMachine:
      return "part of the machine";
  }
  return "";
}

Mark markOf(std::string_view code) {
  if (isOneOf(code, kFreeCodes)) return Mark::kFree;
  if (code == "in-use") return Mark::kHeld;
  if (isOneOf(code, kHostCodes)) return Mark::kHost;
  if (isOneOf(code, kFaultyCodes)) return Mark::kFaulty;
  return isOneOf(code, kMachineCodes) ? Mark::kMachine : Mark::kBarred;
}

std::vector<GroupPart> groupPartsOf(const TopologyPlace& place) {
  std::vector<GroupPart> parts;
  for (std::size_t i = 0; i < place.devices.size(); ++i) {
    const auto& group = place.devices[i].group;
    if (parts.empty() || parts.back().group != group) parts.push_back({group, i, 0});
    ++parts.back().count;
  }
  return parts;
}

void dropEmptyPlaces(TopologyPlace& place) {
  for (TopologyPlace& each : place.below) dropEmptyPlaces(each);
  std::erase_if(place.below, [](const TopologyPlace& each) {
    return each.devices.empty() && each.below.empty();
  });
}

}  // namespace vfiogate
