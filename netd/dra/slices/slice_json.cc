#include "netd/dra/slices/slice.h"

#include "netd/dra/api/api_versions.h"
#include "netd/dra/claims/claim_json.h"

#include <charconv>
#include <chrono>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr const char* kCounterValue = "1";
constexpr const char* kTaintEffect = "NoSchedule";
constexpr const char* kBasic = "basic";
constexpr const char* kOwnerVersion = "v1";
constexpr const char* kOwnerKind = "Node";

/// Of RFC 3339 in UTC with whole seconds. Zero for what is no such time: it reads differently when
/// it is written again.
std::chrono::sys_seconds timeFrom(const std::string& text) {
  const auto number = [&text](std::size_t at, std::size_t length) {
    int value = 0;
    if (text.size() >= at + length) std::from_chars(&text[at], &text[at] + length, value);
    return value;
  };
  const std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok()) return {};
  return std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

// ---- To JSON ----

struct AttributeJson {
  json operator()(const std::string& text) const { return {{"string", text}}; }
  json operator()(std::int64_t number) const { return {{"int", number}}; }
  json operator()(bool flag) const { return {{"bool", flag}}; }
  json operator()(const VersionText& version) const { return {{"version", version.text}}; }
};

json taintJson(const PoolTaint& taint) {
  json out = {{"key", taint.key}, {"effect", kTaintEffect}, {"timeAdded", apiTime(taint.since)}};
  if (!taint.value.empty()) out["value"] = taint.value;
  return out;
}

/// All of a device but its name.
json aspectsJson(const PoolDevice& device) {
  json out = json::object();
  for (const auto& [key, value] : device.attributes) {
    out["attributes"][key] = std::visit(AttributeJson(), value);
  }
  std::map<std::string, json> consumed;  // by counter set
  for (const CounterName& each : device.consumes) {
    consumed[each.set][each.counter] = {{"value", kCounterValue}};
  }
  for (auto& [set, counters] : consumed) {
    out["consumesCounters"].push_back({{"counterSet", set}, {"counters", std::move(counters)}});
  }
  for (const PoolTaint& taint : device.taints) out["taints"].push_back(taintJson(taint));
  return out;
}

json deviceJson(const std::string& name, const PoolDevice& device, ResourceApi api) {
  json aspects = aspectsJson(device);
  if (api == ResourceApi::kV1beta1) return {{"name", name}, {kBasic, std::move(aspects)}};
  aspects["name"] = name;
  return aspects;
}

json specJson(const SliceSpec& spec, ResourceApi api) {
  json out = {{"driver", spec.driver},
              {"nodeName", spec.node},
              {"pool",
               {{"name", spec.pool},
                {"generation", spec.generation},
                {"resourceSliceCount", spec.sliceCount}}}};
  for (const auto& [name, device] : spec.devices) {
    out["devices"].push_back(deviceJson(name, device, api));
  }
  for (const auto& [name, counters] : spec.counterSets) {
    json set = {{"name", name}};
    for (const std::string& counter : counters) {
      set["counters"][counter] = {{"value", kCounterValue}};
    }
    out["sharedCounters"].push_back(std::move(set));
  }
  return out;
}

// ---- From JSON: what is missing or of another type reads as empty ----

const json& at(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string textAt(const json& object, const char* key) {
  const json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t integerAt(const json& object, const char* key) {
  const json& value = at(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

AttributeValue attributeFrom(const json& value) {
  if (at(value, "int").is_number_integer()) return integerAt(value, "int");
  if (at(value, "bool").is_boolean()) return at(value, "bool").get<bool>();
  if (at(value, "version").is_string()) return VersionText{textAt(value, "version")};
  return textAt(value, "string");
}

PoolDevice deviceFrom(const json& entry, ResourceApi api) {
  const json& object = api == ResourceApi::kV1beta1 ? at(entry, kBasic) : entry;
  PoolDevice device;
  for (const auto& [key, value] : at(object, "attributes").items()) {
    device.attributes[key] = attributeFrom(value);
  }
  for (const json& consumed : at(object, "consumesCounters")) {
    for (const auto& [counter, value] : at(consumed, "counters").items()) {
      device.consumes.insert({textAt(consumed, "counterSet"), counter});
    }
  }
  for (const json& taint : at(object, "taints")) {
    device.taints.push_back(
        {textAt(taint, "key"), textAt(taint, "value"), timeFrom(textAt(taint, "timeAdded"))});
  }
  return device;
}

SliceSpec specFrom(const json& object, ResourceApi api) {
  SliceSpec spec;
  spec.driver = textAt(object, "driver");
  spec.node = textAt(object, "nodeName");
  const json& pool = at(object, "pool");
  spec.pool = textAt(pool, "name");
  spec.generation = integerAt(pool, "generation");
  spec.sliceCount = integerAt(pool, "resourceSliceCount");
  for (const json& device : at(object, "devices")) {
    spec.devices.emplace(textAt(device, "name"), deviceFrom(device, api));
  }
  for (const json& set : at(object, "sharedCounters")) {
    auto& counters = spec.counterSets[textAt(set, "name")];
    for (const auto& [counter, value] : at(set, "counters").items()) counters.insert(counter);
  }
  // What the types above cannot say shows in that it would be written otherwise.
  if (specJson(spec, api) != object) {
    spec.strange = object.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return spec;
}

// ---- Metadata ----

json ownerJson(const SliceOwner& owner) {
  return {{"apiVersion", kOwnerVersion},
          {"kind", kOwnerKind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true}};
}

/// The Node among the owners, if it is there as we write it. `others`: the rest.
std::optional<SliceOwner> takeOwner(const json& metadata, json& others) {
  std::optional<SliceOwner> owner;
  for (const json& entry : at(metadata, "ownerReferences")) {
    SliceOwner read{textAt(entry, "name"), textAt(entry, "uid")};
    if (textAt(entry, "kind") != kOwnerKind) {
      others["ownerReferences"].push_back(entry);
    } else if (!owner && entry == ownerJson(read)) {
      owner = std::move(read);
    }
  }
  return owner;
}

}  // namespace

json jsonOf(const Slice& slice, ResourceApi api) {
  json metadata = json::object();
  if (!slice.otherMetadata.empty()) metadata = json::parse(slice.otherMetadata);
  metadata["name"] = slice.name;
  if (!slice.uid.empty()) metadata["uid"] = slice.uid;
  if (!slice.resourceVersion.empty()) metadata["resourceVersion"] = slice.resourceVersion;
  if (slice.owner) metadata["ownerReferences"].push_back(ownerJson(*slice.owner));
  return {{"apiVersion", groupVersionOf(api)},
          {"kind", "ResourceSlice"},
          {"metadata", std::move(metadata)},
          {"spec", specJson(slice.spec, api)}};
}

Result<Slice, std::string> sliceFrom(const json& object, ResourceApi api) {
  const json& metadata = at(object, "metadata");
  Slice slice;
  slice.name = textAt(metadata, "name");
  slice.uid = textAt(metadata, "uid");
  slice.resourceVersion = textAt(metadata, "resourceVersion");
  if (slice.name.empty() || slice.uid.empty() || slice.resourceVersion.empty()) {
    return Failure{std::string("a ResourceSlice without name, uid or resourceVersion")};
  }
  json others = json::object();
  slice.owner = takeOwner(metadata, others);
  for (const char* key : {"annotations", "finalizers", "labels"}) {
    if (const json& value = at(metadata, key); !value.is_null()) others[key] = value;
  }
  if (!others.empty())
    slice.otherMetadata = others.dump(-1, ' ', false, json::error_handler_t::replace);
  slice.spec = specFrom(at(object, "spec"), api);
  return slice;
}

}  // namespace vfiogate
