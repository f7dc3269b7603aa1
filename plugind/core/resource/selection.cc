#include "plugind/core/resource/selection.h"

#include "ipc/types/units.h"

namespace vfiogate {
namespace {

LeftOut excludedBy(std::size_t index) {
  return {kExcluded, "matches exclude[" + std::to_string(index) + "]"};
}

/// The serial number would say whether it matches, and is not known.
bool hangsOnSerial(const Selector& selector, const PciDevice& device, const Learnt& learnt) {
  return !learnt.serial && selectsSerials(selector) &&
         matches(selector, device, learnt.product, std::nullopt);
}

bool hangsOnSerial(const Selector& selector, const Snapshot& snapshot, const MediatedDevice& device,
                   const Learnt& learnt) {
  return !learnt.serial && selectsSerials(selector) &&
         matches(selector, snapshot, device, learnt.product, std::nullopt);
}

/// `list`: of exclude or resources.
LeftOut serialUnknown(const char* list, std::size_t index, const Bdf& card, const Learnt& learnt) {
  return {kSerialUnknown, list + ("[" + std::to_string(index)) +
                              "] selects by serial, and the serial number of " + card.str() +
                              " is not known: " + std::string(learnt.whyNoSerial)};
}

/// The three say of a selector what it says of the unit; `card`: whose serial number is meant.
template <typename MayExclude, typename Takes, typename MayTake>
std::optional<Undecided> firstUndecided(const Settings& settings, const Bdf& card,
                                        const Learnt& learnt, const MayExclude& mayExclude,
                                        const Takes& takes, const MayTake& mayTake) {
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    if (!mayExclude(settings.exclude[i])) continue;
    return Undecided{true, serialUnknown("exclude", i, card, learnt)};
  }
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!entry.sets.empty()) continue;
    if (takes(entry.select)) return std::nullopt;
    if (!mayTake(entry.select)) continue;
    return Undecided{false, serialUnknown("resources", i, card, learnt)};
  }
  return std::nullopt;
}

}  // namespace

const PciDevice* parentOf(const Snapshot& snapshot, const MediatedDevice& device) {
  return device.parent ? functionOf(snapshot, *device.parent) : nullptr;
}

bool matches(const Selector& selector, const PciDevice& device, const Learnt& learnt) {
  return matches(selector, device, learnt.product, learnt.serial.value_or(""));
}

bool matches(const Selector& selector, const Snapshot& snapshot, const MediatedDevice& device,
             const Learnt& learnt) {
  return matches(selector, snapshot, device, learnt.product, learnt.serial.value_or(""));
}

std::optional<LeftOut> excluded(const Settings& settings, const PciDevice& device,
                                const Learnt& learnt) {
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    if (matches(settings.exclude[i], device, learnt)) return excludedBy(i);
  }
  return std::nullopt;
}

std::optional<LeftOut> excluded(const Settings& settings, const Snapshot& snapshot,
                                const MediatedDevice& device, const Learnt& learnt) {
  const PciDevice* parent = parentOf(snapshot, device);
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    const bool whole = parent != nullptr && matches(settings.exclude[i], *parent, learnt);
    if (whole || matches(settings.exclude[i], snapshot, device, learnt)) return excludedBy(i);
  }
  return std::nullopt;
}

std::optional<Undecided> undecided(const Settings& settings, const PciDevice& device,
                                   const Learnt& learnt) {
  const auto hangs = [&](const Selector& each) { return hangsOnSerial(each, device, learnt); };
  const auto takes = [&](const Selector& each) { return matches(each, device, learnt); };
  return firstUndecided(settings, device.address, learnt, hangs, takes, hangs);
}

std::optional<Undecided> undecided(const Settings& settings, const Snapshot& snapshot,
                                   const MediatedDevice& device, const Learnt& learnt) {
  const PciDevice* parent = parentOf(snapshot, device);
  if (parent == nullptr) return std::nullopt;
  const auto hangs = [&](const Selector& each) {
    return hangsOnSerial(each, snapshot, device, learnt);
  };
  const auto takes = [&](const Selector& each) { return matches(each, snapshot, device, learnt); };
  const auto mayExclude = [&](const Selector& each) {
    return hangsOnSerial(each, *parent, learnt) || hangs(each);
  };
  return firstUndecided(settings, parent->address, learnt, mayExclude, takes, hangs);
}

}  // namespace vfiogate
