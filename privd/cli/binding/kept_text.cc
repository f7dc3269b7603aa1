#include "privd/cli/binding/kept_text.h"

#include "cli/table.h"
#include "ipc/base/hex.h"
#include "privd/cli/base/device_json.h"

#include <array>
#include <ctime>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kKeptVersion = 1;

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

}  // namespace vfiogate
