#include "netd/dra/claims/claim_json.h"

#include "ipc/types/claim_spec.h"
#include "netd/dra/api/json_text.h"
#include "netd/dra/claims/device_parameters.h"

#include <utility>
#include <vector>

namespace vfiogate {
namespace {

using nlohmann::json;

// The API's own limits.
constexpr std::size_t kMostConfigs = 64;
constexpr std::size_t kLongestUid = 128;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;

constexpr const char* kPodClaimName = "resource.kubernetes.io/pod-claim-name";

AllocatedDevice readResult(JsonFields& fields) {
  AllocatedDevice device;
  device.request = fields.neededText("request", 2 * kLongestLabel + 1);
  device.pool = fields.neededText("pool", kLongestName);
  device.device = fields.neededText("device", kLongestLabel);
  std::string share = fields.text("shareID", kLongestUid);
  if (!share.empty()) device.shareId = std::move(share);
  device.adminAccess = fields.flag("adminAccess");
  return device;
}

/// The results that are `driver`'s.
std::vector<AllocatedDevice> readResults(const json& results, const std::string& driver,
                                         std::string& wrong) {
  std::vector<AllocatedDevice> devices;
  for (std::size_t index = 0; index < results.size() && wrong.empty(); ++index) {
    JsonFields fields(results[index],
                      "status.allocation.devices.results[" + std::to_string(index) + "]", wrong);
    if (fields.neededText("driver", kLongestLabel) != driver) continue;
    devices.push_back(readResult(fields));
  }
  return devices;
}

void addParameters(std::vector<AllocatedDevice>& devices,
                   const std::vector<ParameterEntry>& entries) {
  for (AllocatedDevice& device : devices) {
    auto parameters = parametersFor(entries, device.request);
    if (parameters) {
      device.parameters = *parameters;
    } else {
      device.badParameters = parameters.error();
    }
  }
}

void readAllocation(const json& allocation, const std::string& driver, AllocatedClaim& claim,
                    std::string& wrong) {
  claim.allocated = true;
  JsonFields fields(allocation, "status.allocation", wrong);
  const json* devices = fields.object("devices");
  if (devices == nullptr) return;
  JsonFields of(*devices, "status.allocation.devices", wrong);
  if (const json* results = of.list("results", kMostClaimDevices)) {
    claim.devices = readResults(*results, driver, wrong);
  }
  const json* config = of.list("config", kMostConfigs);
  if (config == nullptr || claim.devices.empty() || !wrong.empty()) return;
  const auto entries = readParameterEntries(*config, driver);
  if (entries) {
    addParameters(claim.devices, *entries);
  } else {
    wrong = entries.error();
  }
}

std::string podClaimNameOf(JsonFields& metadata, std::string& wrong) {
  const json* annotations = metadata.object("annotations");
  if (annotations == nullptr) return {};
  return JsonFields(*annotations, "metadata.annotations", wrong).text(kPodClaimName, kLongestName);
}

}  // namespace

Result<AllocatedClaim, std::string> readClaim(std::string_view text, const std::string& driver) {
  const auto document = readJsonObject(text);
  if (!document) return Failure{"the claim " + document.error()};
  AllocatedClaim claim;
  std::string wrong;
  JsonFields whole(*document, "", wrong);
  if (const json* metadata = whole.object("metadata")) {
    JsonFields fields(*metadata, "metadata", wrong);
    claim.uid = fields.neededText("uid", kLongestUid);
    claim.podClaimName = podClaimNameOf(fields, wrong);
  } else if (wrong.empty()) {
    wrong = "metadata: is missing";
  }
  if (const json* status = whole.object("status")) {
    JsonFields fields(*status, "status", wrong);
    if (const json* allocation = fields.object("allocation")) {
      readAllocation(*allocation, driver, claim, wrong);
    }
  }
  if (!wrong.empty()) return Failure{"the claim's " + wrong};
  return claim;
}

}  // namespace vfiogate
