#include "privd/sandbox/binder_places.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

/// Where links say that functions are: not always at the top of devices/, on Arm and Hyper-V they
/// lie deeper.
std::vector<std::string> rootComplexes(const std::string& root, const SysfsRoot& sysfs) {
  constexpr std::string_view kDevices = "devices/";
  std::set<std::string> found;
  const auto names = sysfs.names("bus/pci/devices");
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const auto link = sysfs.link("bus/pci/devices/" + name);
    if (!link) continue;
    const std::size_t devices = link->find(kDevices);
    const std::size_t complex = link->find("/pci", devices);
    if (devices == std::string::npos || complex == std::string::npos) continue;
    const std::size_t end = link->find('/', complex + 1);
    found.insert(root + "/" + link->substr(devices, end - devices));
  }
  if (found.empty()) found.insert(root + "/devices");
  return {found.begin(), found.end()};
}

}  // namespace

AllowedPlaces allowedPlaces(const BinderOptions& options, const SysfsRoot& sysfs) {
  const BindingOptions& binding = options.binding;
  const PlaceValues values{
      {"<sysfs>", options.sysfs},
      {"<dev>", options.dev},
      {"<state-dir>", options.stateDir},
      {"<record-dir>", recordDirectory(options.recordDir, options.stateDir)},
      {"<audit-log>", binding.auditLog},
      {"<host-mountinfo>", binding.hostMountinfo},
      {"<host-route>", binding.hostRoute},
  };
  return allowedPlaces(kBinderPlaces, values,
                       {kRootComplexes, rootComplexes(options.sysfs, sysfs)});
}

}  // namespace vfiogate
