#include "plugind/core/resource/companions.h"

#include <algorithm>
#include <array>

#include "ipc/types/viability.h"

namespace vfiogate {
namespace {

constexpr std::uint32_t kDisplay = 0x03;
// Audio, USB-C and its serial controller.
constexpr std::array<std::uint32_t, 3> kCompanionClasses{0x0403, 0x0c03, 0x0c80};

constexpr std::string_view kTicket = "companion:";

bool ofOneSlot(const UnitId& left, const UnitId& right) {
  const Bdf* one = left.address();
  const Bdf* other = right.address();
  return one != nullptr && other != nullptr && one->segment() == other->segment() &&
         one->bus() == other->bus() && one->device() == other->device();
}

}  // namespace

std::string ticketId(const UnitId& companion) {
  return std::string(kTicket) + companion.str();
}

std::optional<UnitId> ticketIn(const std::string& id) {
  if (!id.starts_with(kTicket)) return std::nullopt;
  const auto companion = UnitId::parse(id.substr(kTicket.size()));
  if (!companion) return std::nullopt;
  return *companion;
}

bool isCompanionKind(const PciDevice& device) {
  return device.classCode &&
         std::ranges::find(kCompanionClasses, *device.classCode >> 8) != kCompanionClasses.end();
}

Cards::Cards(const Snapshot& snapshot) {
  for (const auto& [address, device] : snapshot.devices) {
    const bool isDisplay = device.classCode && (*device.classCode >> 16) == kDisplay;
    if (isDisplay && device.group && isEndpoint(device)) cards_[*device.group].push_back(address);
  }
}

std::optional<UnitId> Cards::of(const PciDevice& companion) const {
  if (!companion.group || !isCompanionKind(companion)) return std::nullopt;
  const auto found = cards_.find(*companion.group);
  if (found == cards_.end()) return std::nullopt;
  const auto near = std::ranges::find_if(
      found->second, [&](const UnitId& card) { return ofOneSlot(card, companion.address); });
  return near == found->second.end() ? found->second.front() : *near;
}

}  // namespace vfiogate
