#include "netd/dra/claims/device_parameters.h"

#include "netd/dra/api/json_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr std::string_view kVersion = "vfio.vfiogate.dev/v1alpha1";
constexpr std::string_view kKind = "DeviceConfig";
constexpr std::size_t kMostParameterBytes = std::size_t{10} << 10U;  ///< the API's own limit
constexpr std::size_t kMostEntryRequests = 32;
constexpr std::size_t kLongestRequest = 127;
constexpr std::size_t kLongestDriver = 63;

constexpr std::array<std::pair<std::string_view, Backend>, 4> kBackends{{
    {"auto", Backend::kAuto},
    {"legacy", Backend::kLegacy},
    {"iommufd", Backend::kIommufd},
    {"both", Backend::kBoth},
}};

std::string badField(const std::string& field, const json& value, std::string_view must) {
  std::string shown = "is no text";
  if (value.is_string()) shown = quotedJsonText(value.get_ref<const std::string&>());
  return "parameters." + field + ": " + shown + ": must be " + std::string(must);
}

std::string demand(const json& parameters, const char* field, std::string_view wanted) {
  const auto found = parameters.find(field);
  const std::string must = quotedJsonText(wanted);
  if (found == parameters.end()) return std::string("parameters.") + field + ": must be " + must;
  if (found->is_string() && found->get_ref<const std::string&>() == wanted) return {};
  return badField(field, *found, must);
}

std::string readVfio(const json& value, ParameterEntry& entry) {
  for (const auto& [word, backend] : kBackends) {
    if (value.is_string() && value.get_ref<const std::string&>() == word) entry.vfio = backend;
  }
  return entry.vfio ? "" : badField("vfio", value, "auto, legacy, iommufd or both");
}

std::string readBind(const json& value, ParameterEntry& entry) {
  if (value == "allowed") entry.bindNever = false;
  if (value == "never") entry.bindNever = true;
  return entry.bindNever ? "" : badField("bind", value, "allowed or never");
}

/// Why they cannot be used; empty: they are in `entry`.
std::string readParameters(const json& parameters, ParameterEntry& entry) {
  if (!parameters.is_object()) return "parameters: is no object";
  if (parameters.dump(-1, ' ', false, json::error_handler_t::replace).size() >
      kMostParameterBytes) {
    return "parameters: are more than 10 KiB";
  }
  std::string bad = demand(parameters, "apiVersion", kVersion);
  if (bad.empty()) bad = demand(parameters, "kind", kKind);
  for (const auto& [field, value] : parameters.items()) {
    if (!bad.empty()) return bad;
    if (field == "apiVersion" || field == "kind") continue;
    if (field == "vfio") {
      bad = readVfio(value, entry);
    } else if (field == "bind") {
      bad = readBind(value, entry);
    } else {
      const std::string quoted = quotedJsonText(field);
      bad = "parameters." + quoted.substr(1, quoted.size() - 2) + ": no such field";
    }
  }
  return bad;
}

ParameterEntry readEntry(JsonFields& fields, const json* opaque, std::string& wrong) {
  ParameterEntry entry;
  const std::string source = fields.neededText("source", kLongestDriver);
  entry.fromClass = source == "FromClass";
  if (wrong.empty() && !entry.fromClass && source != "FromClaim") {
    wrong = fields.pathOf("source") + ": must be FromClass or FromClaim";
  }
  if (const json* requests = fields.list("requests", kMostEntryRequests)) {
    for (const json& request : *requests) {
      if (request.is_string() && request.get_ref<const std::string&>().size() <= kLongestRequest) {
        entry.requests.push_back(request.get<std::string>());
      } else if (wrong.empty()) {
        wrong = fields.pathOf("requests") + ": one is no request's name";
      }
    }
  }
  const auto parameters = opaque->find("parameters");
  entry.bad =
      parameters == opaque->end() ? "parameters: are missing" : readParameters(*parameters, entry);
  return entry;
}

}  // namespace

Result<std::vector<ParameterEntry>, std::string> readParameterEntries(const json& config,
                                                                      const std::string& driver) {
  std::vector<ParameterEntry> entries;
  std::string wrong;
  for (std::size_t index = 0; index < config.size(); ++index) {
    const std::string path = "status.allocation.devices.config[" + std::to_string(index) + "]";
    JsonFields fields(config[index], path, wrong);
    const json* opaque = fields.object("opaque");
    if (opaque != nullptr) {
      JsonFields of(*opaque, fields.pathOf("opaque"), wrong);
      if (of.neededText("driver", kLongestDriver) == driver) {
        entries.push_back(readEntry(fields, opaque, wrong));
      }
    }
    if (!wrong.empty()) return Failure{std::move(wrong)};
  }
  return entries;
}

bool requestMatches(const std::string& entryRequest, const std::string& request) {
  return entryRequest == request || request.starts_with(entryRequest + "/");
}

Result<DeviceParameters, std::string> parametersFor(const std::vector<ParameterEntry>& entries,
                                                    const std::string& request) {
  DeviceParameters merged;
  for (const bool fromClass : {true, false}) {
    for (const ParameterEntry& entry : entries) {
      const bool meant = entry.requests.empty() ||
                         std::ranges::any_of(entry.requests, [&request](const std::string& one) {
                           return requestMatches(one, request);
                         });
      if (entry.fromClass != fromClass || !meant) continue;
      if (!entry.bad.empty()) return Failure{entry.bad};
      if (entry.vfio) merged.vfio = entry.vfio;
      if (entry.bindNever) merged.bindNever = *entry.bindNever;
    }
  }
  return merged;
}

}  // namespace vfiogate
