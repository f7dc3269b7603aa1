#include "plugind/checkpoint/checkpoint_reader.h"

#include "plugind/checkpoint/checkpoint_shape.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "proto/deviceplugin.pb.h"

#include <absl/strings/escaping.h>
#include <nlohmann/json.hpp>

namespace vfiogate {
namespace {

using nlohmann::json;

void addIds(const json& list, std::set<std::string>& ids) {
  for (const json& id : list) ids.insert(id.get<std::string>());
}

/// Empty also where the recorded answer is no answer: it may be another plugin's business.
v1beta1::ContainerAllocateResponse answerOf(const json& recorded) {
  v1beta1::ContainerAllocateResponse answer;
  std::string bytes;
  const bool read = !recorded.is_null() &&
                    absl::Base64Unescape(recorded.get<std::string>(), &bytes) &&
                    answer.ParseFromString(bytes);
  if (!read) answer.Clear();
  return answer;
}

std::optional<std::string> annotation(const v1beta1::ContainerAllocateResponse& answer,
                                      const char* key) {
  const auto found = answer.annotations().find(key);
  if (found == answer.annotations().end()) return std::nullopt;
  return found->second;
}

RecordedDevices entryOf(const json& entry, CheckpointFormat format) {
  const v1beta1::ContainerAllocateResponse answer = answerOf(entry["AllocResp"]);
  RecordedDevices recorded{.podUid = entry["PodUID"],
                           .container = entry["ContainerName"],
                           .resource = entry["ResourceName"],
                           .ids = {},
                           .allocated = annotation(answer, kAllocatedAnnotation),
                           .ref = annotation(answer, kRefAnnotation)};
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
