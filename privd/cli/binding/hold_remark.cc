#include "privd/cli/binding/hold_remark.h"

#include <filesystem>
#include <set>
#include <system_error>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

std::string ofMediated(const Uuid& uuid, const fs::path& sysfs) {
  std::error_code error;
  if (fs::exists(sysfs / "bus/mdev/devices" / uuid.str(), error)) return {};
  return uuid.str() +
         ": there is no such mediated device now: it is excluded when it comes. A card that is "
         "bound "
         "to a VFIO driver has none";
}

/// Each is in a group of its own.
std::string ofFunction(const Bdf& address, const fs::path& sysfs) {
  std::error_code error;
  std::set<Uuid> children;
  fs::directory_iterator each(sysfs / "bus/pci/devices" / address.str(), error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    if (const auto uuid = Uuid::parse(each->path().filename().string())) children.insert(*uuid);
  }
  if (children.empty()) return {};
  return address.str() + ": its mediated devices, such as " + children.begin()->str() +
         ", are allocated still: hold each by its UUID";
}

}  // namespace

std::string holdRemark(const UnitId& device, const std::string& sysfs) {
  if (const Uuid* uuid = device.uuid()) return ofMediated(*uuid, sysfs);
  return ofFunction(*device.address(), sysfs);
}

}  // namespace vfiogate
