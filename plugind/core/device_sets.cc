#include "plugind/core/device_sets.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::string_view kBegin = "set:";

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

bool isSetName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestSetName && isPlain(text.front()) &&
         isPlain(text.back()) &&
         std::ranges::all_of(text, [](char c) { return isPlain(c) || c == '-'; });
}

std::string setId(const std::string& name) {
  return std::string(kBegin) + name;
}

std::optional<std::string> setNameIn(std::string_view id) {
  if (!id.starts_with(kBegin)) return std::nullopt;
  const std::string_view name = id.substr(kBegin.size());
  return isSetName(name) ? std::optional(std::string(name)) : std::nullopt;
}

std::set<UnitId> unitsOf(const std::vector<DeviceSet>& sets) {
  std::set<UnitId> units;
  for (const DeviceSet& set : sets) units.insert(set.units.begin(), set.units.end());
  return units;
}

}  // namespace vfiogate
