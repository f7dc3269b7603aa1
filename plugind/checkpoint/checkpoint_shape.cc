#include "plugind/checkpoint/checkpoint_shape.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace vfiogate {
namespace {

using nlohmann::json;
using Problem = std::optional<std::string>;

/// `object` has exactly `keys`.
Problem keysProblem(const json& object, const std::string& where,
                    std::initializer_list<std::string_view> keys) {
  if (!object.is_object()) return where + " is no object";
  for (const std::string_view key : keys) {
    if (!object.contains(key)) return where + " has no " + std::string(key);
  }
  if (object.size() != keys.size()) return where + " has keys of an unknown format";
  return std::nullopt;
}

/// Go writes a list that was never made as null.
Problem listProblem(const json& list, const std::string& where) {
  if (list.is_null()) return std::nullopt;
  if (!list.is_array()) return where + " is no list";
  for (const json& item : list) {
    if (!item.is_string()) return where + " has an item that is no string";
  }
  return std::nullopt;
}

Problem devicesProblem(const json& devices, const std::string& where, CheckpointFormat format) {
  if (format == CheckpointFormat::kList) return listProblem(devices, where);
  if (!devices.is_object()) return where + " is of another format than the entries before";
  for (const auto& [key, ids] : devices.items()) {
    if (!isNumaKey(key)) return where + " has a key that is no NUMA node";
    if (auto problem = listProblem(ids, where)) return problem;
  }
  return std::nullopt;
}

Problem entryProblem(const json& entry, const std::string& where, CheckpointFormat format) {
  if (auto problem = keysProblem(
          entry, where, {"PodUID", "ContainerName", "ResourceName", "DeviceIDs", "AllocResp"})) {
    return problem;
  }
  for (const char* key : {"PodUID", "ContainerName", "ResourceName"}) {
    if (!entry[key].is_string()) return where + "." + key + " is no string";
  }
  const json& answer = entry["AllocResp"];
  if (!answer.is_string() && !answer.is_null()) return where + ".AllocResp is no string";
  return devicesProblem(entry["DeviceIDs"], where + ".DeviceIDs", format);
}

Problem registeredProblem(const json& registered) {
  if (registered.is_null()) return std::nullopt;
  if (!registered.is_object()) return "Data.RegisteredDevices is no object";
  for (const auto& [resource, ids] : registered.items()) {
    if (auto problem = listProblem(ids, "Data.RegisteredDevices")) return problem;
  }
  return std::nullopt;
}

CheckpointFormat formatOf(const json& entries) {
  const bool list = !entries.empty() && entries[0].is_object() &&
                    entries[0].contains("DeviceIDs") && entries[0]["DeviceIDs"].is_array();
  return list ? CheckpointFormat::kList : CheckpointFormat::kNuma;
}

}  // namespace

bool isNumaKey(const std::string& key) {
  std::int64_t node = 0;
  const auto read = std::from_chars(key.data(), key.data() + key.size(), node);
  return read.ec == std::errc() && std::to_string(node) == key;
}

Result<CheckpointFormat, std::string> checkpointFormat(const json& file) {
  if (auto problem = keysProblem(file, "the file", {"Data", "Checksum"})) return Failure{*problem};
  if (!file["Checksum"].is_number_unsigned()) return Failure{std::string("Checksum is no number")};
  const json& data = file["Data"];
  if (auto problem = keysProblem(data, "Data", {"PodDeviceEntries", "RegisteredDevices"})) {
    return Failure{*problem};
  }
  if (auto problem = registeredProblem(data["RegisteredDevices"])) return Failure{*problem};
  const json& entries = data["PodDeviceEntries"];
  if (entries.is_null()) return CheckpointFormat::kNuma;
  if (!entries.is_array()) return Failure{std::string("Data.PodDeviceEntries is no list")};
  const CheckpointFormat format = formatOf(entries);
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const std::string where = "Data.PodDeviceEntries[" + std::to_string(index) + "]";
    if (auto problem = entryProblem(entries[index], where, format)) return Failure{*problem};
  }
  return format;
}

}  // namespace vfiogate
