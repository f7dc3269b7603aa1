#include "privd/scan/uevent_socket.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <array>
#include <string>

namespace vfiogate {
namespace {

constexpr std::array<std::string_view, 8> kSubsystems = {"pci",  "vfio",    "vfio-dev", "mdev",
                                                         "misc", "drivers", "iommu",    "egm"};

/// The value of the field SUBSYSTEM; empty: there is none.
std::string_view subsystemOf(std::string_view fields) {
  while (!fields.empty()) {
    const std::size_t end = fields.find('\0');
    const std::string_view field = fields.substr(0, end);
    if (field.starts_with("SUBSYSTEM=")) return field.substr(10);
    if (end == std::string_view::npos) break;
    fields.remove_prefix(end + 1);
  }
  return {};
}

/// The PCI function that the path ends in or leads through last, such as
/// /devices/pci0000:00/0000:00:01.0/0000:01:00.0/vfio-dev/vfio0, with the mediated device below; or
/// the number of the group whose node it is, /devices/virtual/vfio/12.
Places placesIn(std::string_view path, std::string_view subsystem) {
  Places places;
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string name(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
    if (const auto uuid = Uuid::parse(name)) places.mediated.insert(*uuid);
    if (const auto address = Bdf::parse(name)) {
      places.devices.insert(*address);
      return places;
    }
    const auto number = subsystem == "vfio" ? parseDecimal(name) : std::nullopt;
    if (number) {
      places.groups.insert(IommuGroupId(*number));
      return places;
    }
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return places;
}

}  // namespace

std::optional<Places> hintOf(std::string_view datagram) {
  // "ACTION@DEVPATH", then "KEY=VALUE" fields, each ended by a zero byte.
  const std::size_t headEnd = datagram.find('\0');
  if (headEnd == std::string_view::npos) return std::nullopt;
  const std::string_view head = datagram.substr(0, headEnd);
  const std::size_t at = head.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view subsystem = subsystemOf(datagram.substr(headEnd + 1));
  if (std::ranges::find(kSubsystems, subsystem) == kSubsystems.end()) return std::nullopt;
  return placesIn(head.substr(at + 1), subsystem);
}

}  // namespace vfiogate
