#include "sim/kubelet/base/checkpoint_format.h"

#include <nlohmann/json.hpp>

namespace vfiogate::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(const std::string& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t block = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t byte =
          i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
      block = block << 8U | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kAlphabet[block >> (18 - 6 * k) & 0x3fU];
    }
  }
  return text;
}

std::string fromBase64(const std::string& text) {
  const std::string alphabet = kAlphabet;
  std::string bytes;
  std::uint32_t block = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = alphabet.find(c);
    if (value == std::string::npos) break;
    block = block << 6U | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(block >> static_cast<unsigned>(bits) & 0xffU);
  }
  return bytes;
}

std::string listText(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? " " : "") + item;
  return text + "]";
}

std::string bytesText(const std::string& bytes) {
  std::string text = "[";
  for (const char c : bytes) {
    text += (text.size() > 1 ? " " : "") + std::to_string(static_cast<unsigned char>(c));
  }
  return text + "]";
}

std::string entryText(const CheckpointEntry& entry) {
  std::string devices = "map[";
  for (const auto& [node, ids] : entry.devices) {
    devices += (devices.size() > 4 ? " " : "") + std::to_string(node) + ":" + listText(ids);
  }
  return "{PodUID:(string)" + entry.podUid + " ContainerName:(string)" + entry.container +
         " ResourceName:(string)" + entry.resource + " DeviceIDs:(checkpoint.DevicesPerNUMA)" +
         devices + "] AllocResp:([]uint8)" + bytesText(entry.allocResp) + "}";
}

std::string rendering(const Checkpoint& checkpoint) {
  std::string entries = "<nil>";
  if (checkpoint.entries) {
    entries = "[";
    for (const CheckpointEntry& entry : *checkpoint.entries) {
      entries += (entries.size() > 1 ? " " : "") + entryText(entry);
    }
    entries += "]";
  }
  std::string registered = "map[";
  for (const auto& [resource, ids] : checkpoint.registered) {
    registered += (registered.size() > 4 ? " " : "") + resource + ":" + listText(ids);
  }
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" + entries +
         " RegisteredDevices:(map[string][]string)" + registered + "]}";
}

Json entryJson(const CheckpointEntry& entry) {
  Json devices = Json::object();
  for (const auto& [node, ids] : entry.devices) devices[std::to_string(node)] = ids;
  return {{"PodUID", entry.podUid},
          {"ContainerName", entry.container},
          {"ResourceName", entry.resource},
          {"DeviceIDs", devices},
          {"AllocResp", base64(entry.allocResp)}};
}

Checkpoint dataOf(const Json& data) {
  Checkpoint checkpoint;
  const Json& entries = data.at("PodDeviceEntries");
  if (!entries.is_null()) checkpoint.entries.emplace();
  for (const Json& entry : entries) {
    CheckpointEntry read{.podUid = entry.at("PodUID"),
                         .container = entry.at("ContainerName"),
                         .resource = entry.at("ResourceName"),
                         .allocResp = fromBase64(entry.at("AllocResp"))};
    for (const auto& [node, ids] : entry.at("DeviceIDs").items()) {
      read.devices[std::stol(node)] = ids.get<std::vector<std::string>>();
    }
    checkpoint.entries->push_back(std::move(read));
  }
  for (const auto& [resource, ids] : data.at("RegisteredDevices").items()) {
    checkpoint.registered[resource] = ids.get<std::vector<std::string>>();
  }
  return checkpoint;
}

}  // namespace

std::uint32_t checksumOf(const Checkpoint& checkpoint) {
  std::uint32_t hash = 2166136261U;
  for (const char c : rendering(checkpoint)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return hash;
}

std::string formatCheckpoint(const Checkpoint& checkpoint) {
  Json entries = nullptr;
  if (checkpoint.entries) {
    entries = Json::array();
    for (const CheckpointEntry& entry : *checkpoint.entries) entries.push_back(entryJson(entry));
  }
  const Json file = {
      {"Data",
       {{"PodDeviceEntries", entries},
        {"RegisteredDevices",
         checkpoint.registered.empty() ? Json::object() : Json(checkpoint.registered)}}},
      {"Checksum", checksumOf(checkpoint)}};
  return goJson(file.dump());
}

std::optional<Checkpoint> parseCheckpoint(const std::string& text) {
  try {
    const Json file = Json::parse(text);
    Checkpoint checkpoint = dataOf(file.at("Data"));
    if (file.at("Checksum").get<std::uint32_t>() != checksumOf(checkpoint)) return std::nullopt;
    return checkpoint;
  } catch (const std::exception&) {
    // The library reports by exception what this function says with null: not a v2 checkpoint.
    return std::nullopt;
  }
}

}  // namespace vfiogate::sim
