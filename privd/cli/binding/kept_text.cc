#include "privd/cli/binding/kept_text.h"

#include "cli/table.h"
#include "ipc/base/hex.h"
#include "privd/cli/base/device_json.h"

#include <array>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kKeptVersion = 1;

std::string ofMediated(const Uuid& uuid, const fs::path& sysfs) {
  std::error_code error;
  if (fs::exists(sysfs / "bus/mdev/devices" / uuid.str(), error)) return {};
  return uuid.str() +
         ": there is no such mediated device now: it is excluded when it comes. A card that is "
         "bound to a VFIO driver has none";
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

std::string timeText(std::int64_t secondsSince1970) {
  const std::time_t time = secondsSince1970;
  std::tm parts = {};
  std::array<char, 64> text = {};
  if (gmtime_r(&time, &parts) == nullptr) return "?";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string keptText(const std::vector<Exclusion>& exclusions,
                     const std::vector<DeviceIdentity>& declared, std::int64_t now, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const Exclusion& exclusion : exclusions) {
    rows.push_back({{exclusion.device.str()},
                    {"excluded", Ink::kBusy},
                    {momentText(exclusion.since, now)},
                    {jsonText(exclusion.reason)}});
  }
  for (const DeviceIdentity& device : declared) {
    rows.push_back({{device.address.str()},
                    {"declared"},
                    {""},
                    {"bound at start while it is " + hexDigits(device.vendor, 4) + ":" +
                     hexDigits(device.device, 4)}});
  }
  if (rows.empty()) return "Nothing is excluded, and nothing is declared.\n";
  return formatTable({{"DEVICE"}, {"MARK"}, {"SINCE"}, {"REASON"}}, rows, 0, colours);
}

nlohmann::ordered_json keptJson(const std::vector<Exclusion>& exclusions,
                                const std::vector<DeviceIdentity>& declared) {
  Json excluded = Json::array();
  for (const Exclusion& exclusion : exclusions) {
    excluded.push_back(
        {{exclusion.device.uuid() != nullptr ? "uuid" : "address", exclusion.device.str()},
         {"since", timeText(exclusion.since)},
         {"reason", exclusion.reason}});
  }
  Json kept = Json::array();
  for (const DeviceIdentity& device : declared) {
    kept.push_back({{"address", device.address.str()},
                    {"vendor", hexDigits(device.vendor, 4)},
                    {"device", hexDigits(device.device, 4)}});
  }
  return {{"version", kKeptVersion}, {"exclusions", excluded}, {"declared", kept}};
}

std::string holdRemark(const UnitId& device, const std::string& sysfs) {
  if (const Uuid* uuid = device.uuid()) return ofMediated(*uuid, sysfs);
  return ofFunction(*device.address(), sysfs);
}

}  // namespace vfiogate
