#include "privd/scan/pci_scan.h"

#include "ipc/base/hex.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr const char* kEgmClass = "class/egm";
/// One a socket.
constexpr std::size_t kMostRegions = 64;

/// Drivers say it in one of two forms: an entry for each, or a file with all of them.
std::vector<Bdf> gpusOf(const SysfsRoot& sysfs, const std::string& directory) {
  std::set<Bdf> gpus;
  const auto add = [&gpus](std::string_view name) {
    if (const auto address = Bdf::parse(name)) gpus.insert(*address);
  };
  if (const auto entries = sysfs.names(directory)) {
    for (const std::string& name : *entries) add(name);
  }
  if (const auto file = sysfs.read(directory + "/gpu_devices")) {
    constexpr std::string_view kBetween = " ,\n";
    for (std::size_t at = 0; at < file->size();) {
      const std::size_t end = std::min(file->find_first_of(kBetween, at), file->size());
      add(std::string_view(*file).substr(at, end - at));
      at = end + 1;
    }
  }
  return {gpus.begin(), gpus.end()};
}

}  // namespace

std::vector<EgmRegion> readEgm(const SysfsRoot& sysfs, const DevRoot& dev) {
  std::vector<EgmRegion> regions;
  const auto names = sysfs.names(kEgmClass);
  if (!names) return regions;
  for (const std::string& name : *names) {
    const auto number = name.starts_with("egm") ? parseDecimal(name.substr(3)) : std::nullopt;
    if (!number || regions.size() == kMostRegions || !dev.hasCharacterDevice(name)) continue;
    auto gpus = gpusOf(sysfs, std::string(kEgmClass) + "/" + name);
    if (!gpus.empty()) regions.push_back({*number, std::move(gpus)});
  }
  std::ranges::sort(regions, {}, &EgmRegion::number);
  return regions;
}

}  // namespace vfiogate
