#include "privd/cdi/cdi_spec.h"

#include "privd/base/sha256.h"

namespace vfiogate {
namespace {

constexpr std::string_view kPrefix = "vfiogate-";
constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::size_t kDigits = 16;

/// As the kernel makes them, and as the device plugin's way hands them on: the container of VFIO
/// for everybody, what reaches a device for its owner. That is the user of the container's process,
/// whom runtimes make the owner where a spec names none.
std::string_view modeOf(std::string_view node) {
  return node == "/dev/vfio/vfio" ? "438" : "384";  // 0666, 0600
}

}  // namespace

std::string nodesText(const std::vector<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) {
    if (!text.empty()) text += ", ";
    text += R"({"path": ")" + node + R"(", "fileMode": )" + std::string(modeOf(node)) +
            R"(, "permissions": "rwm"})";
  }
  return text;
}

std::string specText(const ResourceName& resource, const StaticSpecText& text) {
  std::vector<std::string> sets;
  for (const SpecNodes& nodes : text.nodeSets) sets.push_back(nodesText(pathsOf(nodes)));
  std::string spec =
      "{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"" + resource.str() + "\",\n  \"devices\": [";
  const char* separator = "\n";
  for (const StaticSpecText::Device& device : text.devices) {
    spec += separator;
    spec += R"(    {"name": ")" + device.address.str() +
            R"(", "containerEdits": {"deviceNodes": [)" + sets.at(device.nodes) + "]}}";
    separator = ",\n";
  }
  return spec + "\n  ]\n}\n";
}

std::string specFileName(const ResourceName& resource) {
  return std::string(kPrefix) + digestOf(resource) + std::string(kSuffix);
}

std::string temporaryNameOf(std::string_view name) {
  return "." + std::string(name) + std::string(kTemporarySuffix);
}

std::string_view lastingNameOf(std::string_view name) {
  const bool temporary = name.starts_with('.') && name.ends_with(kTemporarySuffix);
  return temporary ? name.substr(1, name.size() - 1 - kTemporarySuffix.size()) : name;
}

bool isSpecFileName(std::string_view name) {
  name = lastingNameOf(name);
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return false;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  const auto digits = name.substr(kPrefix.size(), kDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace vfiogate
