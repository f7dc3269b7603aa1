// findDevice() and findDevices(): the names that are below sysfs.

#include "cli/device_name.h"
#include "cli/usage.h"
#include "ipc/base/hex.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

/// A directory of sysfs whose entries are links to devices.
struct NamedClass {
  const char* directory;
  const char* says;  ///< what one of them is
};
constexpr std::array<NamedClass, 5> kClasses{{{"class/net", "network interface"},
                                              {"class/block", "disk"},
                                              {"class/nvme", "NVMe controller"},
                                              {"class/drm", "DRM device"},
                                              {"class/infiniband", "InfiniBand device"}}};
constexpr const char* kSlots = "bus/pci/slots";

std::vector<std::string> namesIn(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator each(directory, failed), end; !failed && each != end;
       each.increment(failed)) {
    names.push_back(each->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

/// A name that a directory of sysfs may have.
bool isName(const std::string& text) {
  return !text.empty() && text.front() != '.' && text.find('/') == std::string::npos;
}

std::string quoted(const std::string& text) {
  std::string clean;
  for (const char c : text) clean += (c >= 0x20 && c <= 0x7e) ? c : '?';
  return "'" + clean + "'";
}

/// "10de:2684"
bool looksLikeIds(const std::string& text) {
  return text.size() == 9 && text[4] == ':' && parseHexDigits(text.substr(0, 4), 4) &&
         parseHexDigits(text.substr(5), 4);
}

/// A UUID with a digit too few, or with another letter: no other name has so many hyphens.
bool looksLikeUuid(const std::string& text) {
  return text.size() >= 30 && std::ranges::count(text, '-') == 4;
}

std::string notFound(const std::string& text, const std::string& name, const fs::path& sysfs) {
  if (readUuid(text)) {
    return quoted(text) +
           " is the UUID of a mediated device, whose drivers are never changed: privd hold, "
           "release, "
           "list and show take one";
  }
  if (looksLikeUuid(text)) {
    return quoted(text) +
           " is no UUID of a mediated device: it has 8, 4, 4, 4 and 12 hex digits, as the names "
           "below " +
           (sysfs / "bus/mdev/devices").string() + " have";
  }
  if (looksLikeIds(text)) {
    return quoted(text) +
           " is vendor:device, which several devices may have: privd list --select " + text +
           " has their addresses";
  }
  std::vector<std::string> known = namesIn(sysfs / kSlots);
  for (std::string& address : namesIn(sysfs / "bus/pci/devices")) {
    if (address.starts_with("0000:")) known.push_back(address.substr(5));
    known.push_back(std::move(address));
  }
  for (const NamedClass& each : kClasses) {
    std::ranges::move(namesIn(sysfs / each.directory), std::back_inserter(known));
  }
  return quoted(text) + " is no device here: no PCI address (0000:65:00.0, 65:00.0, " +
         "pci_0000_65_00_0), and no slot, network interface, disk, NVMe, DRM or InfiniBand device "
         "below " +
         sysfs.string() + didYouMean(name, known) + " (privd list has what there is)";
}

/// `start` is all of an address but the function. Error: in words.
Result<Bdf, std::string> onlyFunction(const std::string& text, const std::string& start,
                                      const fs::path& sysfs) {
  std::vector<std::string> functions;
  for (std::string& name : namesIn(sysfs / "bus/pci/devices")) {
    if (name.starts_with(start)) functions.push_back(std::move(name));
  }
  if (functions.empty()) {
    return Failure{quoted(text) + " is " + start + "*, and no such device is below " +
                   sysfs.string() + " (privd list has what there is)"};
  }
  if (functions.size() == 1) return Bdf::parse(functions.front()).value();
  std::string all;
  for (const std::string& function : functions) all += (all.empty() ? "" : ", ") + function;
  return Failure{quoted(text) + " has several functions: give one of " + all};
}

Result<Bdf, std::string> named(const std::string& text, const fs::path& sysfs) {
  const std::string name = text.starts_with("/dev/") ? text.substr(text.rfind('/') + 1) : text;
  if (!isName(name)) return Failure{notFound(text, name, sysfs)};
  for (const NamedClass& each : kClasses) {
    std::error_code failed;
    const fs::path link = fs::read_symlink(sysfs / each.directory / name, failed);
    if (failed) continue;
    if (const auto address = functionInPath(link.string())) return *address;
    return Failure{quoted(text) + " is a " + each.says + ", but of no PCI device: it is " +
                   link.string()};
  }
  std::string place;
  std::ifstream slot(sysfs / kSlots / name / "address");
  if (std::getline(slot, place)) {
    if (const auto start = deviceOfAllFunctions(place)) return onlyFunction(text, *start, sysfs);
  }
  return Failure{notFound(text, name, sysfs)};
}

/// What each of `texts` means, once.
template <typename Named>
Result<std::vector<Named>, std::string> findEach(
    const std::vector<std::string>& texts, const std::string& sysfs,
    Result<Named, std::string> (*find)(const std::string&, const std::string&)) {
  std::vector<Named> found;
  for (const std::string& text : texts) {
    const auto named = find(text, sysfs);
    if (!named) return Failure{named.error()};
    if (std::ranges::find(found, *named) == found.end()) found.push_back(*named);
  }
  return found;
}

}  // namespace

Result<Bdf, std::string> findDevice(const std::string& text, const std::string& sysfs) {
  const auto address = readAddress(text);
  if (address) return *address;
  switch (address.error()) {
    case AddressTrouble::kOutOfRange:
      return Failure{quoted(text) +
                     " is out of range: a bus has devices 00 to 1f, a device has functions 0 to 7"};
    case AddressTrouble::kNoFunction:
      return onlyFunction(text, *deviceOfAllFunctions(text), sysfs);
    case AddressTrouble::kOtherName:
      return named(text, sysfs);
  }
  return named(text, sysfs);
}

Result<UnitId, std::string> findUnit(const std::string& text, const std::string& sysfs) {
  if (const auto uuid = readUuid(text)) return UnitId(*uuid);
  const auto address = findDevice(text, sysfs);
  if (!address) return Failure{address.error()};
  return UnitId(*address);
}

Result<std::vector<UnitId>, std::string> findUnits(const std::vector<std::string>& texts,
                                                   const std::string& sysfs) {
  return findEach(texts, sysfs, findUnit);
}

Result<std::vector<Bdf>, std::string> findDevices(const std::vector<std::string>& texts,
                                                  const std::string& sysfs) {
  return findEach(texts, sysfs, findDevice);
}

}  // namespace vfiogate
