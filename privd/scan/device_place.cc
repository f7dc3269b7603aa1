#include "privd/scan/device_place.h"

#include "ipc/types/selector.h"

namespace vfiogate {
namespace {

constexpr const char* kSlots = "bus/pci/slots";
constexpr std::size_t kMostSlots = 1024;
constexpr std::size_t kFunctionPart = 2;  // ".0"
constexpr std::size_t kDevicePart = 5;    // ":00.0"

std::string withoutEnd(const Bdf& address, std::size_t end) {
  const std::string text = address.str();
  return text.substr(0, text.size() - end);
}

/// What a slot says is in it, as keys of SlotNames have it; empty: it makes no sense.
std::string placeIn(const std::string& said) {
  if (const auto device = Bdf::parse(said + ".0")) return withoutEnd(*device, kFunctionPart);
  if (const auto bus = Bdf::parse(said + ":00.0")) return withoutEnd(*bus, kDevicePart);
  return {};
}

std::string slotAt(const Bdf& address, const SlotNames& slots) {
  for (const std::size_t end : {kFunctionPart, kDevicePart}) {
    const auto found = slots.find(withoutEnd(address, end));
    if (found != slots.end()) return found->second;
  }
  return {};
}

}  // namespace

SlotNames readSlots(const SysfsRoot& sysfs) {
  SlotNames slots;
  const auto names = sysfs.names(kSlots);
  if (!names) return slots;
  for (const std::string& name : *names) {
    if (slots.size() == kMostSlots) break;
    if (!isSlotName(name)) continue;
    const auto said = sysfs.read(std::string(kSlots) + "/" + name + "/address");
    const std::string place = said ? placeIn(*said) : std::string();
    if (place.empty()) continue;
    const auto [entry, isFirst] = slots.emplace(place, name);
    if (!isFirst) entry->second.clear();
  }
  return slots;
}

DevicePlace placeOf(std::string_view path, const std::optional<Bdf>& physicalFunction,
                    const SlotNames& slots) {
  DevicePlace place;
  const std::size_t root = path.find("/pci");
  if (root != std::string_view::npos) {
    place.root = path.substr(root + 1, path.find('/', root + 1) - root - 1);
  }
  // Up to the root complex. What is above that, as Intel's VMD above its domain, is no port of it.
  bool self = true;
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    const auto address = Bdf::parse(path.substr(slash + 1));
    if (!address) break;
    if (!self) place.rootPort = *address;
    if (place.slot.empty()) {
      place.slot = slotAt(self ? physicalFunction.value_or(*address) : *address, slots);
    }
    self = false;
    path = path.substr(0, slash);
  }
  return place;
}

}  // namespace vfiogate
