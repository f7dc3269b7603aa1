#include "privd/cdi/cdi_spec.h"

#include "privd/base/sha256.h"

#include <algorithm>

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

constexpr std::string_view kDev = "/dev/";

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

std::string specText(const ResourceName& resource, const std::vector<SpecDevice>& devices) {
  std::string text =
      "{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"" + resource.str() + "\",\n  \"devices\": [";
  const char* separator = "\n";
  for (const SpecDevice& device : devices) {
    text += separator;
    text += R"(    {"name": ")" + device.address.str() +
            R"(", "containerEdits": {"deviceNodes": [)" + nodesText(device.nodes) + "]}}";
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
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

std::vector<std::string> nodesOnDisk(const DevRoot& dev, const Snapshot& hardware,
                                     const std::set<Bdf>& addresses, Backend backend) {
  auto nodes = vfioNodes(hardware, addresses, backend);
  const bool there = nodes && std::ranges::all_of(*nodes, [&dev](const std::string& node) {
                       return dev.hasCharacterDevice(node.substr(kDev.size()));
                     });
  return there ? *std::move(nodes) : std::vector<std::string>();
}

}  // namespace vfiogate
