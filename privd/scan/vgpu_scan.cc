#include "privd/scan/pci_scan.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <string_view>

namespace vfiogate {
namespace {

constexpr const char* kCreatableTypes = "/nvidia/creatable_vgpu_types";
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLongestName = 64;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool isName(std::string_view text) {
  return text.size() <= kLongestName &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

/// As this function's list calls the type; empty: it is not there.
std::string listedName(const SysfsRoot& sysfs, const Bdf& function, std::uint32_t type) {
  const auto read =
      sysfs.readBytes(std::string(kPciDevices) + "/" + function.str() + kCreatableTypes, kPage);
  std::string_view list;
  if (read) list = *read;
  // After a line of headings, "1147  : NVIDIA L40S-1Q".
  while (!list.empty()) {
    const std::string_view line = list.substr(0, list.find('\n'));
    list.remove_prefix(std::min(line.size() + 1, list.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || parseDecimal(trimmed(line.substr(0, colon))) != type)
      continue;
    const std::string_view name = trimmed(line.substr(colon + 1));
    if (isName(name)) return std::string(name);
  }
  return {};
}

/// By another function of the card, its own list, or that of one without a type.
std::string toldName(const SysfsRoot& sysfs, const Snapshot& seen, const PciDevice& device) {
  Bdf lister = device.address;
  for (const auto& [address, sibling] : seen.devices) {
    if (!device.physicalFunction || sibling.physicalFunction != device.physicalFunction) continue;
    if (sibling.vgpuType == 0) lister = address;
    if (sibling.vgpuType == device.vgpuType && !sibling.vgpuTypeName.empty())
      return sibling.vgpuTypeName;
  }
  std::string name = listedName(sysfs, device.address, *device.vgpuType);
  return name.empty() ? listedName(sysfs, lister, *device.vgpuType) : name;
}

}  // namespace

bool nameVgpus(const SysfsRoot& sysfs, const Places& where, Snapshot& seen) {
  bool changed = false;
  for (auto& [address, device] : seen.devices) {
    const bool read =
        where.devices.contains(address) || (device.group && where.groups.contains(*device.group));
    if (!read || device.vgpuType.value_or(0) == 0 || !device.vgpuTypeName.empty()) continue;
    device.vgpuTypeName = toldName(sysfs, seen, device);
    changed |= !device.vgpuTypeName.empty();
  }
  return changed;
}

}  // namespace vfiogate
