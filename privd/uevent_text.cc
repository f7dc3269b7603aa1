#include "privd/uevent_text.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

constexpr std::array<std::string_view, 7> kSubsystems = {"pci",  "vfio",    "vfio-dev", "mdev",
                                                         "misc", "drivers", "iommu"};

}  // namespace

bool isHint(std::string_view datagram) {
  // "ACTION@DEVPATH", then "KEY=VALUE" fields, each ended by a zero byte.
  const std::size_t headEnd = datagram.find('\0');
  if (headEnd == std::string_view::npos) return false;
  if (datagram.substr(0, headEnd).find('@') == std::string_view::npos) return false;
  std::string_view rest = datagram.substr(headEnd + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    const std::string_view field = rest.substr(0, end);
    if (field.starts_with("SUBSYSTEM=")) {
      return std::ranges::find(kSubsystems, field.substr(10)) != kSubsystems.end();
    }
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace vfiogate
