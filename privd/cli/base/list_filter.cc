#include "privd/cli/base/list_filter.h"

#include "cli/usage.h"
#include "ipc/types/units.h"
#include "ipc/types/viability.h"
#include "privd/cli/base/device_state.h"
#include "privd/cli/base/node_view.h"

#include <algorithm>

namespace vfiogate {
namespace {

template <typename Values, typename Value>
bool has(const Values& values, const Value& value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

std::vector<std::string> stateNames() {
  std::vector<std::string> names{"in-use", kBindingState};
  for (int i = 0; i <= static_cast<int>(Obstacle::kNoNode); ++i) {
    names.emplace_back(reasonCode(static_cast<Obstacle>(i)));
  }
  std::ranges::sort(names);
  return names;
}

std::string checkState(const std::string& word) {
  const auto names = stateNames();
  return has(names, word) ? std::string() : noneOf(word, "state", names);
}

bool isPartOfMachine(const Snapshot& snapshot, const PciDevice& device) {
  const Obstacle obstacle = viability(snapshot, device.address).obstacle;
  return obstacle == Obstacle::kBridge || obstacle == Obstacle::kPlatform;
}

bool passes(const ListFilter& filter, const Snapshot& snapshot, const PciDevice& device) {
  const auto isSelected = [&device](const Selector& each) { return matches(each, device); };
  return (filter.devices.empty() || has(filter.devices, UnitId(device.address))) &&
         (filter.selectors.empty() || std::ranges::any_of(filter.selectors, isSelected)) &&
         (filter.states.empty() || has(filter.states, stateOf(snapshot, device)));
}

bool passes(const ListFilter& filter, const Snapshot& snapshot, const MediatedDevice& device) {
  const PciDevice* parent = device.parent ? functionOf(snapshot, *device.parent) : nullptr;
  const auto isSelected = [&](const Selector& each) {
    return matches(each, snapshot, device) || (parent != nullptr && matches(each, *parent));
  };
  const bool named = filter.devices.empty() || has(filter.devices, UnitId(device.uuid)) ||
                     (device.parent && has(filter.devices, UnitId(*device.parent)));
  return named && (filter.selectors.empty() || std::ranges::any_of(filter.selectors, isSelected)) &&
         (filter.states.empty() || has(filter.states, stateOf(snapshot, device)));
}

bool isShown(const ListFilter& filter, const Snapshot& snapshot, const PciDevice& device) {
  const bool named = !filter.devices.empty() || !filter.states.empty();
  return passes(filter, snapshot, device) &&
         (filter.all || named || !isPartOfMachine(snapshot, device));
}

}  // namespace vfiogate
