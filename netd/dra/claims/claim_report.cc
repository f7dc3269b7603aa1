#include "netd/dra/claims/claim_json.h"

#include "netd/dra/api/json_text.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestMessage = 32768;  ///< the API's own limit

bool hasText(const json& object, const char* key, std::string_view text) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return text.empty();
  return found->is_string() && found->get_ref<const std::string&>() == text;
}

bool isReportOf(const json& entry, const std::string& driver, const ReportedDevice& device) {
  return entry.is_object() && hasText(entry, "driver", driver) &&
         hasText(entry, "pool", device.pool) && hasText(entry, "device", device.device) &&
         hasText(entry, "shareID", device.shareId.value_or(""));
}

/// The transition time that `entry` has for a condition Ready of this status.
std::optional<std::string> sinceIn(const json& entry, const std::string& status) {
  const auto conditions = entry.find("conditions");
  if (conditions == entry.end() || !conditions->is_array()) return std::nullopt;
  for (const json& condition : *conditions) {
    if (!condition.is_object() || !hasText(condition, "type", "Ready") ||
        !hasText(condition, "status", status)) {
      continue;
    }
    const auto time = condition.find("lastTransitionTime");
    if (time != condition.end() && time->is_string()) return time->get<std::string>();
  }
  return std::nullopt;
}

std::string sinceOf(const json& old, const ClaimReport& report, const ReportedDevice& device,
                    const std::string& status, std::chrono::sys_seconds now) {
  for (const json& entry : old) {
    if (!isReportOf(entry, report.driver, device)) continue;
    if (auto since = sinceIn(entry, status)) return std::move(*since);
  }
  return apiTime(now);
}

json entryOf(const json& old, const ClaimReport& report, const ReportedDevice& device,
             std::chrono::sys_seconds now) {
  const std::string status = device.ready ? "True" : "False";
  json condition{
      {"type", "Ready"},
      {"status", status},
      {"reason", device.reason.empty() ? "Unspecified" : device.reason},
      {"message", device.message.substr(0, kLongestMessage)},
      {"lastTransitionTime", sinceOf(old, report, device, status, now)},
  };
  json entry{{"driver", report.driver},
             {"pool", device.pool},
             {"device", device.device},
             {"conditions", json::array({std::move(condition)})}};
  if (device.shareId) entry["shareID"] = *device.shareId;
  if (!device.address.empty()) entry["data"] = {{"address", device.address}};
  return entry;
}

}  // namespace

Result<std::optional<std::string>, std::string> claimWithReport(std::string_view text,
                                                                const ClaimReport& report,
                                                                std::chrono::sys_seconds now) {
  auto document = readJsonObject(text);
  if (!document) return Failure{"the claim " + document.error()};
  json claim = std::move(document).value();
  const auto metadata = claim.find("metadata");
  if (metadata == claim.end() || !metadata->is_object() || !hasText(*metadata, "uid", report.uid)) {
    return Failure{std::string("the claim is another one by now")};
  }
  const auto status = claim.find("status");
  if (status == claim.end() || !status->is_object() || !status->contains("allocation")) {
    return Failure{std::string("the claim is not allocated any more")};
  }
  json old = json::array();
  const auto reported = status->find("devices");
  if (reported != status->end() && reported->is_array()) old = *reported;
  json devices = json::array();
  for (const json& entry : old) {
    if (!entry.is_object() || !hasText(entry, "driver", report.driver)) devices.push_back(entry);
  }
  for (const ReportedDevice& device : report.devices) {
    devices.push_back(entryOf(old, report, device, now));
  }
  if (devices == old) return std::optional<std::string>();
  (*status)["devices"] = std::move(devices);
  return std::optional(claim.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string apiTime(std::chrono::sys_seconds when) {
  const std::time_t seconds = when.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace vfiogate
