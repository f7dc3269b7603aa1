#include "privd/cdi/cdi_spec.h"

#include "ipc/base/kube_names.h"
#include "privd/cdi/device_metadata.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

constexpr std::string_view kClaimBegin = "vfiogate-claim-";
constexpr std::string_view kClaimEnd = ".json";

std::string claimRecord(const ClaimSpec& spec) {
  return claimVariable(spec.uid) + "=" + spec.claimNamespace + "/" + spec.name +
         (spec.metadata ? ";metadata;" : ";none;") + spec.podClaimName + ";" + spec.pool;
}

std::string deviceRecord(const ClaimDevice& device) {
  std::string text = deviceVariable(device.address) + "=" + device.resource + ";" + device.request +
                     ";" + std::string(handlesWord(device.backend));
  char separator = ';';
  for (const UnitId& hand : device.hands) {
    text += separator + hand.str();
    separator = ',';
  }
  return text;
}

std::string mountsText(const ClaimSpec& spec, const std::string& request,
                       const std::string& metadataDirectory) {
  return R"(, "mounts": [{"hostPath": ")" + metadataDirectory + "/" +
         metadataFileName(spec.uid, request) + R"(", "containerPath": ")" +
         metadataMount(spec, request) + R"(", "options": ["ro", "nosuid", "nodev", "bind"]}])";
}

}  // namespace

std::string claimFileName(const std::string& uid) {
  return std::string(kClaimBegin) + uid + std::string(kClaimEnd);
}

std::optional<std::string> claimUidOf(std::string_view name) {
  if (!name.starts_with(kClaimBegin) || !name.ends_with(kClaimEnd)) return std::nullopt;
  name.remove_prefix(kClaimBegin.size());
  if (name.size() <= kClaimEnd.size()) return std::nullopt;
  name.remove_suffix(kClaimEnd.size());
  if (!isUid(name)) return std::nullopt;
  return std::string(name);
}

bool isPlainPath(std::string_view path) {
  return std::ranges::all_of(path,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string claimSpecText(const ClaimSpec& spec, const std::vector<std::vector<std::string>>& nodes,
                          const std::string& metadataDirectory) {
  std::string text = "{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"" + spec.driver +
                     "/claim\",\n  \"containerEdits\": {\"env\": [\"" + claimRecord(spec) +
                     "\"]},\n  \"devices\": [";
  const char* separator = "\n";
  std::set<std::string> mounted;
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const ClaimDevice& device = spec.devices[i];
    text += separator + (R"(    {"name": ")" + claimDeviceName(spec.uid, device.address)) +
            R"(", "containerEdits": {"env": [")" + deviceRecord(device) +
            R"("], "deviceNodes": [)" + nodesText(nodes[i]) + "]";
    // Once a request: its containers get all of its devices.
    if (spec.metadata && mounted.insert(device.request).second) {
      text += mountsText(spec, device.request, metadataDirectory);
    }
    text += "}}";
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace vfiogate
