#include "plugind/checkpoint/checkpoint_reader.h"

#include "plugind/checkpoint/checkpoint_checksum.h"
#include "plugind/checkpoint/checkpoint_shape.h"
#include "plugind/core/ledger/fingerprint.h"
#include "proto/deviceplugin.pb.h"

#include <absl/strings/escaping.h>
#include <nlohmann/json.hpp>

namespace vfiogate {
namespace {

using nlohmann::json;

void addIds(const json& list, std::set<std::string>& ids) {
  for (const json& id : list) ids.insert(id.get<std::string>());
}

/// Absent also where the answer is no answer: it may be another plugin's business.
std::optional<std::string> lentAnnotation(const json& answer) {
  if (answer.is_null()) return std::nullopt;
  std::string bytes;
  v1beta1::ContainerAllocateResponse response;
  if (!absl::Base64Unescape(answer.get<std::string>(), &bytes) ||
      !response.ParseFromString(bytes)) {
    return std::nullopt;
  }
  const auto found = response.annotations().find(kLentAnnotation);
  if (found == response.annotations().end()) return std::nullopt;
  return found->second;
}

RecordedDevices entryOf(const json& entry, CheckpointFormat format) {
  RecordedDevices recorded{.podUid = entry["PodUID"],
                           .container = entry["ContainerName"],
                           .resource = entry["ResourceName"],
                           .ids = {},
                           .lent = lentAnnotation(entry["AllocResp"])};
  const json& devices = entry["DeviceIDs"];
  if (format == CheckpointFormat::kList) {
    addIds(devices, recorded.ids);
  } else {
    for (const json& ids : devices) addIds(ids, recorded.ids);
  }
  return recorded;
}

}  // namespace

Result<CheckpointVersion, std::string> readCheckpoint(
    std::string_view text, std::chrono::sys_time<std::chrono::nanoseconds> written) {
  if (text.size() > kLongestCheckpoint) {
    return Failure{"longer than " + std::to_string(kLongestCheckpoint) + " bytes"};
  }
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) return Failure{std::string("not JSON")};
  const auto format = checkpointFormat(file);
  if (!format) return Failure{format.error()};
  const json& data = file["Data"];
  const std::uint32_t checksum = fnv1a(goRendering(data, *format));
  if (file["Checksum"].get<std::uint64_t>() != checksum) {
    return Failure{"the checksum is " + std::to_string(file["Checksum"].get<std::uint64_t>()) +
                   ", of these data it would be " + std::to_string(checksum)};
  }
  CheckpointVersion version{.written = written, .entries = {}, .registered = {}};
  for (const json& entry : data["PodDeviceEntries"]) {
    version.entries.push_back(entryOf(entry, *format));
  }
  for (const auto& [resource, ids] : data["RegisteredDevices"].items()) {
    addIds(ids, version.registered[resource]);
  }
  return version;
}

}  // namespace vfiogate
