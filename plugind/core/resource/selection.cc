#include "plugind/core/resource/selection.h"

#include "ipc/types/units.h"

namespace vfiogate {
namespace {

LeftOut excludedBy(std::size_t index) {
  return {"excluded", "matches exclude[" + std::to_string(index) + "]"};
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
  return {"serial-unknown", list + ("[" + std::to_string(index)) +
                                "] selects by serial, and the serial number of " + card.str() +
                                " is not known: " + std::string(learnt.whyNoSerial)};
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

std::optional<LeftOut> mayBeExcluded(const Settings& settings, const PciDevice& device,
                                     const Learnt& learnt) {
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    if (!hangsOnSerial(settings.exclude[i], device, learnt)) continue;
    return serialUnknown("exclude", i, device.address, learnt);
  }
  return std::nullopt;
}

std::optional<LeftOut> mayBeExcluded(const Settings& settings, const Snapshot& snapshot,
                                     const MediatedDevice& device, const Learnt& learnt) {
  const PciDevice* parent = parentOf(snapshot, device);
  if (parent == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    const Selector& each = settings.exclude[i];
    const bool hangs =
        hangsOnSerial(each, *parent, learnt) || hangsOnSerial(each, snapshot, device, learnt);
    if (hangs) return serialUnknown("exclude", i, parent->address, learnt);
  }
  return std::nullopt;
}

std::optional<LeftOut> mayBelongElsewhere(const Settings& settings, const PciDevice& device,
                                          const Learnt& learnt) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!entry.sets.empty()) continue;
    if (matches(entry.select, device, learnt)) return std::nullopt;
    if (!hangsOnSerial(entry.select, device, learnt)) continue;
    return serialUnknown("resources", i, device.address, learnt);
  }
  return std::nullopt;
}

std::optional<LeftOut> mayBelongElsewhere(const Settings& settings, const Snapshot& snapshot,
                                          const MediatedDevice& device, const Learnt& learnt) {
  const PciDevice* parent = parentOf(snapshot, device);
  if (parent == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!entry.sets.empty()) continue;
    if (matches(entry.select, snapshot, device, learnt)) return std::nullopt;
    if (!hangsOnSerial(entry.select, snapshot, device, learnt)) continue;
    return serialUnknown("resources", i, parent->address, learnt);
  }
  return std::nullopt;
}

}  // namespace vfiogate
