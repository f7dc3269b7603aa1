#include "tests/support/kubelet_sim/checkpoint_format.h"

#include <nlohmann/json.hpp>

#include <kj/encoding.h>

#include <charconv>
#include <utility>

namespace vfiogate::kubelet_sim {
namespace {

using Json = nlohmann::ordered_json;

/// The values of `list` through `render`, as Go prints a slice, or "<nil>".
template <typename List, typename Render>
std::string goSlice(const Nullable<List>& list, Render render) {
  if (!list) return "<nil>";
  std::string text = "[";
  // Not by looking whether the text is empty: so may the first value be.
  const char* separator = "";
  for (const auto& value : *list) text += std::exchange(separator, " ") + render(value);
  return text + "]";
}

std::string goIds(const IdList& ids) {
  return goSlice(ids, [](const std::string& id) { return id; });
}

template <typename Map, typename RenderKey>
std::string goMap(const Nullable<Map>& map, RenderKey renderKey) {
  if (!map) return "<nil>";
  std::string text;
  for (const auto& [key, ids] : *map) {
    text += (text.empty() ? "" : " ") + renderKey(key) + ":" + goIds(ids);
  }
  return "map[" + text + "]";
}

std::string goEntry(const PodDevicesEntry& entry) {
  const auto node = [](std::int64_t key) { return std::to_string(key); };
  const auto byte = [](char c) { return std::to_string(static_cast<unsigned char>(c)); };
  return "{PodUID:(string)" + entry.podUid + " ContainerName:(string)" + entry.containerName +
         " ResourceName:(string)" + entry.resourceName + " DeviceIDs:(checkpoint.DevicesPerNUMA)" +
         goMap(entry.deviceIds, node) + " AllocResp:([]uint8)" + goSlice(entry.allocResp, byte) +
         "}";
}

Json idsToJson(const IdList& ids) {
  return ids ? Json(*ids) : Json(nullptr);
}

Json nodesToJson(const PodDevicesEntry& entry) {
  if (!entry.deviceIds) return nullptr;
  nlohmann::json sortedAsText = nlohmann::json::object();
  for (const auto& [node, ids] : *entry.deviceIds) {
    sortedAsText[std::to_string(node)] = idsToJson(ids);
  }
  return sortedAsText;
}

Json bytesToJson(const Nullable<std::string>& bytes) {
  if (!bytes) return nullptr;
  return kj::encodeBase64(kj::StringPtr(bytes->c_str(), bytes->size()).asBytes()).cStr();
}

Json dataToJson(const Checkpoint& checkpoint) {
  Json entries = nullptr;
  if (checkpoint.podDeviceEntries) {
    entries = Json::array();
    for (const auto& entry : *checkpoint.podDeviceEntries) {
      entries.push_back({{"PodUID", entry.podUid},
                         {"ContainerName", entry.containerName},
                         {"ResourceName", entry.resourceName},
                         {"DeviceIDs", nodesToJson(entry)},
                         {"AllocResp", bytesToJson(entry.allocResp)}});
    }
  }
  Json registered = nullptr;
  if (checkpoint.registeredDevices) {
    registered = Json::object();
    for (const auto& [name, ids] : *checkpoint.registeredDevices) registered[name] = idsToJson(ids);
  }
  return {{"PodDeviceEntries", entries}, {"RegisteredDevices", registered}};
}

/// Go's JSON writer hides these from HTML; between strings they do not occur.
std::string escapeLikeGo(const std::string& json) {
  std::string text;
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else {
      text += c;
    }
  }
  return text;
}

// The readers below throw nlohmann::json::exception on a wrong shape; parseCheckpoint is the edge.

[[noreturn]] void failShape(const std::string& what) {
  throw nlohmann::json::other_error::create(501, what, nullptr);
}

/// Null stays null; everything else goes through `read`.
template <typename T, typename Read>
Nullable<T> readNullable(const Json& json, Read read) {
  if (json.is_null()) return std::nullopt;
  return read(json);
}

IdList readIds(const Json& json) {
  return readNullable<std::vector<std::string>>(
      json, [](const Json& list) { return list.get<std::vector<std::string>>(); });
}

std::map<std::int64_t, IdList> readNodes(const Json& json) {
  if (!json.is_object()) failShape("DeviceIDs is no object");
  std::map<std::int64_t, IdList> nodes;
  for (const auto& [key, ids] : json.items()) {
    std::int64_t node = 0;
    const auto* end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, node);
    if (error != std::errc() || stop != end) failShape("NUMA node " + key);
    nodes[node] = readIds(ids);
  }
  return nodes;
}

std::string readBytes(const Json& json) {
  const auto text = json.get<std::string>();
  const auto bytes = kj::decodeBase64(kj::StringPtr(text.c_str(), text.size()));
  if (bytes.hadErrors) failShape("AllocResp is no base64");
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

PodDevicesEntry readEntry(const Json& json) {
  return {
      .podUid = json.at("PodUID").get<std::string>(),
      .containerName = json.at("ContainerName").get<std::string>(),
      .resourceName = json.at("ResourceName").get<std::string>(),
      .deviceIds = readNullable<std::map<std::int64_t, IdList>>(json.at("DeviceIDs"), readNodes),
      .allocResp = readNullable<std::string>(json.at("AllocResp"), readBytes)};
}

Checkpoint readData(const Json& json) {
  Checkpoint checkpoint;
  const auto& entries = json.at("PodDeviceEntries");
  if (!entries.is_null()) {
    if (!entries.is_array()) failShape("PodDeviceEntries is no array");
    checkpoint.podDeviceEntries.emplace();
    for (const auto& entry : entries) checkpoint.podDeviceEntries->push_back(readEntry(entry));
  }
  const auto& registered = json.at("RegisteredDevices");
  if (!registered.is_null()) {
    if (!registered.is_object()) failShape("RegisteredDevices is no object");
    checkpoint.registeredDevices.emplace();
    for (const auto& [name, ids] : registered.items()) {
      (*checkpoint.registeredDevices)[name] = readIds(ids);
    }
  }
  return checkpoint;
}

}  // namespace

std::string goRendering(const Checkpoint& checkpoint) {
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" +
         goSlice(checkpoint.podDeviceEntries, goEntry) +
         " RegisteredDevices:(map[string][]string)" +
         goMap(checkpoint.registeredDevices, [](const std::string& name) { return name; }) + "}";
}

std::uint32_t checksum(const Checkpoint& checkpoint) {
  constexpr std::uint32_t kOffsetBasis = 2166136261;
  constexpr std::uint32_t kPrime = 16777619;
  std::uint32_t hash = kOffsetBasis;
  for (const char c : goRendering(checkpoint)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  return hash;
}

std::string formatCheckpoint(const Checkpoint& checkpoint) {
  const Json json{{"Data", dataToJson(checkpoint)}, {"Checksum", checksum(checkpoint)}};
  return escapeLikeGo(json.dump());
}

Result<Checkpoint, CheckpointError> parseCheckpoint(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Failure{CheckpointError::kNotJson};
  try {
    Checkpoint checkpoint = readData(json.at("Data"));
    if (json.at("Checksum").get<std::uint64_t>() != checksum(checkpoint)) {
      return Failure{CheckpointError::kWrongChecksum};
    }
    return checkpoint;
  } catch (const nlohmann::json::exception&) {
    return Failure{CheckpointError::kWrongShape};
  }
}

}  // namespace vfiogate::kubelet_sim
