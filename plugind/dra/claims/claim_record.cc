#include "plugind/dra/claims/claim_record.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace vfiogate {
namespace {

using nlohmann::json;
using Problem = std::optional<std::string>;

constexpr std::string_view kVersion = "0.5.0";
constexpr std::string_view kClass = "/claim";
constexpr std::string_view kDevice = "VFIOGATE_DEVICE_";

std::string inLowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// `text` between `separator`s.
std::vector<std::string> partsOf(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// `object` has all of `keys` and, if any other, then `maybe`.
Problem keysProblem(const json& object, const std::string& where,
                    std::initializer_list<const char*> keys, const char* maybe = nullptr) {
  if (!object.is_object()) return where + " is no object";
  for (const char* key : keys) {
    if (!object.contains(key)) return where + " has no " + key;
  }
  const std::size_t known = keys.size() + (maybe != nullptr && object.contains(maybe) ? 1U : 0U);
  if (object.size() != known) return where + " has keys of an unknown format";
  return std::nullopt;
}

/// The one variable of some edits, split where its value begins.
struct Variable {
  std::string name;
  std::vector<std::string> values;
};

Result<Variable, std::string> variableIn(const json& edits, const std::string& where) {
  const json& env = edits["env"];
  if (!env.is_array() || env.size() != 1 || !env[0].is_string()) {
    return Failure{where + ".env is not one variable"};
  }
  const auto text = env[0].get<std::string>();
  const std::size_t equals = text.find('=');
  Variable variable{text.substr(0, equals), {}};
  if (equals != std::string::npos) variable.values = partsOf(text.substr(equals + 1), ';');
  if (variable.values.size() != 4) return Failure{where + ".env has not four values"};
  return variable;
}

/// Absent: `variable` stands for no device.
std::optional<UnitId> addressIn(const std::string& variable) {
  const std::string name = inLowerCase(variable.substr(std::min(variable.size(), kDevice.size())));
  const auto parts = partsOf(name, '_');  // 0000, 17, 00, 0; or the five of a UUID
  std::string text = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool function = parts.size() == 4;
    text += (!function ? "-" : i < 3 ? ":" : ".") + parts[i];
  }
  const auto address = UnitId::parse(text);
  if (!address || deviceVariable(*address) != variable) return std::nullopt;
  return *address;
}

std::optional<Backend> backendOf(const std::string& word) {
  constexpr std::array kAll{Backend::kAuto, Backend::kLegacy, Backend::kIommufd, Backend::kBoth,
                            Backend::kAutoIommufd};
  const auto* found = std::ranges::find(kAll, word, handlesWord);
  if (found == kAll.end()) return std::nullopt;
  return *found;
}

Problem readHands(const std::string& text, ClaimDevice& device, const std::string& where) {
  for (const std::string& part : partsOf(text, ',')) {
    const auto hand = UnitId::parse(part);
    if (!hand) return where + " has a hand that is no address";
    device.hands.insert(*hand);
  }
  return std::nullopt;
}

Result<ClaimDevice, std::string> deviceIn(const json& entry, const std::string& where,
                                          const std::string& uid) {
  if (auto problem = keysProblem(entry, where, {"name", "containerEdits"})) {
    return Failure{*problem};
  }
  const json& edits = entry["containerEdits"];
  const std::string inside = where + ".containerEdits";
  if (auto problem = keysProblem(edits, inside, {"env", "deviceNodes"}, "mounts")) {
    return Failure{*problem};
  }
  const auto variable = variableIn(edits, inside);
  if (!variable) return Failure{variable.error()};
  const auto address = addressIn(variable->name);
  if (!address) return Failure{inside + ".env names no device"};
  if (entry["name"] != claimDeviceName(uid, *address)) return Failure{where + ".name is another's"};
  const auto backend = backendOf(variable->values[2]);
  if (!backend) return Failure{inside + ".env has handles that are unknown here"};
  ClaimDevice device{.address = *address,
                     .resource = variable->values[0],
                     .backend = *backend,
                     .hands = {},
                     .request = variable->values[1]};
  if (auto problem = readHands(variable->values[3], device, inside)) return Failure{*problem};
  return device;
}

/// The UID in VFIOGATE_CLAIM_<UID>, for what comes after to check.
std::string uidIn(const std::string& variable) {
  std::string uid = variable.substr(std::min(variable.size(), claimVariable("").size()));
  std::ranges::replace(uid, '_', '-');
  return inLowerCase(std::move(uid));
}

/// All but the devices.
Result<ClaimSpec, std::string> claimIn(const json& file) {
  if (auto problem =
          keysProblem(file, "the file", {"cdiVersion", "kind", "containerEdits", "devices"})) {
    return Failure{*problem};
  }
  if (file["cdiVersion"] != kVersion) return Failure{std::string("cdiVersion is not 0.5.0")};
  const auto kind = file["kind"].is_string() ? file["kind"].get<std::string>() : std::string();
  if (!kind.ends_with(kClass)) return Failure{std::string("kind is no driver's claims")};
  const json& edits = file["containerEdits"];
  if (auto problem = keysProblem(edits, "containerEdits", {"env"})) return Failure{*problem};
  const auto variable = variableIn(edits, "containerEdits");
  if (!variable) return Failure{variable.error()};
  const auto& [name, values] = *variable;
  const std::size_t slash = values[0].find('/');
  if (slash == std::string::npos) return Failure{std::string("containerEdits.env names no claim")};
  if (values[1] != "metadata" && values[1] != "none") {
    return Failure{std::string("containerEdits.env has files that are unknown here")};
  }
  ClaimSpec spec{.driver = kind.substr(0, kind.size() - kClass.size()),
                 .uid = uidIn(name),
                 .claimNamespace = values[0].substr(0, slash),
                 .name = values[0].substr(slash + 1),
                 .devices = {},
                 .metadata = values[1] == "metadata",
                 .podClaimName = values[2],
                 .pool = values[3]};
  if (claimVariable(spec.uid) != name) {
    return Failure{std::string("containerEdits.env has another variable")};
  }
  return spec;
}

}  // namespace

Result<ClaimSpec, std::string> readClaimSpec(const std::string& text) {
  if (text.size() > kLongestClaimSpec) return Failure{std::string("longer than 64 KiB")};
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) return Failure{std::string("not JSON")};
  auto claim = claimIn(file);
  if (!claim) return claim;
  ClaimSpec spec = std::move(claim).value();
  const json& devices = file["devices"];
  if (!devices.is_array()) return Failure{std::string("devices is no list")};
  for (std::size_t i = 0; i < devices.size() && i <= kMostClaimDevices; ++i) {
    auto device = deviceIn(devices[i], "devices[" + std::to_string(i) + "]", spec.uid);
    if (!device) return Failure{device.error()};
    spec.devices.push_back(std::move(device).value());
  }
  if (auto fault = faultIn(spec)) return Failure{*std::move(fault)};
  return spec;
}

}  // namespace vfiogate
