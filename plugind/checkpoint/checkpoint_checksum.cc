#include "plugind/checkpoint/checkpoint_shape.h"

#include <absl/strings/escaping.h>

#include <map>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr const char* kNil = "<nil>";

template <typename Items, typename Show>
std::string joined(const Items& items, const Show& show) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : " ") + show(item);
  return text;
}

std::string listText(const json& list) {
  if (list.is_null()) return kNil;
  return "[" + joined(list, [](const json& item) { return item.get<std::string>(); }) + "]";
}

/// Keys ascending: bytewise for strings, by value for NUMA nodes.
template <typename Key>
std::string mapText(const std::map<Key, const json*>& lists, std::string (*name)(const Key&)) {
  return "map[" +
         joined(lists,
                [name](const auto& entry) {
                  return name(entry.first) + ":" + listText(*entry.second);
                }) +
         "]";
}

std::string numaText(const json& devices) {
  std::map<std::int64_t, const json*> lists;
  for (const auto& [node, ids] : devices.items()) lists.emplace(std::stoll(node), &ids);
  return mapText<std::int64_t>(lists,
                               [](const std::int64_t& node) { return std::to_string(node); });
}

std::string registeredText(const json& registered) {
  if (registered.is_null()) return kNil;
  std::map<std::string, const json*> lists;
  for (const auto& [resource, ids] : registered.items()) lists.emplace(resource, &ids);
  return mapText<std::string>(lists, [](const std::string& resource) { return resource; });
}

std::string bytesText(const json& base64) {
  if (base64.is_null()) return kNil;
  std::string bytes;
  absl::Base64Unescape(base64.get<std::string>(), &bytes);
  return "[" +
         joined(bytes, [](char byte) { return std::to_string(static_cast<unsigned char>(byte)); }) +
         "]";
}

std::string entryText(const json& entry, CheckpointFormat format) {
  const auto text = [&entry](const char* key) { return entry[key].get<std::string>(); };
  const json& devices = entry["DeviceIDs"];
  return "{PodUID:(string)" + text("PodUID") + " ContainerName:(string)" + text("ContainerName") +
         " ResourceName:(string)" + text("ResourceName") + " DeviceIDs:" +
         (format == CheckpointFormat::kList ? "([]string)" + listText(devices)
                                            : "(checkpoint.DevicesPerNUMA)" + numaText(devices)) +
         " AllocResp:([]uint8)" + bytesText(entry["AllocResp"]) + "}";
}

}  // namespace

std::string goRendering(const json& data, CheckpointFormat format) {
  const json& entries = data["PodDeviceEntries"];
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" +
         (entries.is_null()
              ? kNil
              : "[" +
                    joined(entries,
                           [format](const json& each) { return entryText(each, format); }) +
                    "]") +
         " RegisteredDevices:(map[string][]string)" + registeredText(data["RegisteredDevices"]) +
         "}";
}

std::uint32_t fnv1a(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
  return hash;
}

}  // namespace vfiogate
