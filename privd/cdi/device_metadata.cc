#include "privd/cdi/device_metadata.h"

#include "ipc/base/kube_names.h"
#include "privd/cdi/cdi_spec.h"

namespace vfiogate {
namespace {

constexpr std::string_view kMetadataSuffix = ".json";

/// `"key": "value"`.
std::string field(std::string_view key, std::string_view value) {
  return '"' + std::string(key) + R"(": ")" + std::string(value) + '"';
}

/// `"key": {"string": "value"}`.
std::string attribute(std::string_view key, std::string_view value) {
  return '"' + std::string(key) + "\": {" + field("string", value) + "}";
}

std::string deviceText(const ClaimSpec& spec, const ClaimDevice& device) {
  const UnitId& address = device.address;
  std::string text =
      "      {" + field("driver", spec.driver) + ", " + field("pool", spec.pool) + ", " +
      field("name", addressWith('-', address)) + R"(, "attributes": {)" +
      attribute(address.uuid() == nullptr ? kMetadataAddress : kMetadataUuid, address.str());
  if (device.root) {
    const std::string bus = device.root->str();
    text += ", " + attribute(kMetadataRootComplex, "pci" + bus.substr(0, bus.rfind(':')));
  }
  if (device.numaNode) {
    text += std::string(R"(, ")") + kMetadataNode + R"(": {"int": )" +
            std::to_string(*device.numaNode) + "}";
  }
  return text + "}}";
}

}  // namespace

std::string metadataFileName(const std::string& uid, const std::string& request) {
  return uid + "_" + request + std::string(kMetadataSuffix);
}

bool isMetadataFileOf(const std::string& uid, std::string_view name) {
  const std::string begin = uid + "_";
  name = lastingNameOf(name);
  if (!name.starts_with(begin) || !name.ends_with(kMetadataSuffix)) return false;
  return isDnsLabel(name.substr(begin.size(), name.size() - begin.size() - kMetadataSuffix.size()));
}

std::string metadataText(const ClaimSpec& spec, const std::string& request) {
  std::string text = "{\n  " + field("apiVersion", kMetadataVersion) + ",\n  " +
                     field("kind", kMetadataKind) + ",\n  \"metadata\": {" +
                     field("name", spec.name) + ", " + field("namespace", spec.claimNamespace) +
                     ", " + field("uid", spec.uid) + ", \"generation\": 1},\n";
  if (!spec.podClaimName.empty()) text += "  " + field("podClaimName", spec.podClaimName) + ",\n";
  text += "  \"requests\": [{" + field("name", request) + ", \"devices\": [";
  const char* separator = "\n";
  for (const ClaimDevice& device : spec.devices) {
    if (device.request != request) continue;
    text += separator + deviceText(spec, device);
    separator = ",\n";
  }
  return text + "\n  ]}]\n}\n";
}

std::string metadataMount(const ClaimSpec& spec, const std::string& request) {
  const bool named = spec.podClaimName.empty();
  return std::string(kMetadataRoot) + (named ? "/resourceclaims/" : "/resourceclaimtemplates/") +
         (named ? spec.name : spec.podClaimName) + "/" + request + "/" + spec.driver +
         "-metadata.json";
}

}  // namespace vfiogate
