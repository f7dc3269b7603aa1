#include "sim/kubelet/dra/claim_record.h"

#include "sim/kubelet/base/checkpoint_format.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vfiogate::sim {
namespace {

using ClaimJson = nlohmann::ordered_json;

constexpr const char* kKind = "DRACheckpoint";
constexpr const char* kApiVersion = "checkpoint.dra.kubelet.k8s.io/v1";

/// Go writes null for a list that nobody made.
ClaimJson listJson(const std::vector<std::string>& items) {
  return items.empty() ? ClaimJson(nullptr) : ClaimJson(items);
}

std::vector<std::string> listOf(const ClaimJson& items) {
  return items.is_null() ? std::vector<std::string>() : items.get<std::vector<std::string>>();
}

ClaimJson claimJson(const ClaimRecord& claim) {
  ClaimJson pods = ClaimJson::object();
  for (const std::string& uid : claim.podUids) pods[uid] = ClaimJson::object();
  ClaimJson drivers = ClaimJson::object();
  for (const auto& [driver, devices] : claim.drivers) {
    ClaimJson list = devices.empty() ? ClaimJson(nullptr) : ClaimJson::array();
    for (const ClaimDevice& device : devices) {
      list.push_back({{"PoolName", device.pool},
                      {"DeviceName", device.device},
                      {"ShareID", device.shareId ? ClaimJson(*device.shareId) : ClaimJson(nullptr)},
                      {"RequestNames", listJson(device.requests)},
                      {"CDIDeviceIDs", listJson(device.cdiDevices)}});
    }
    drivers[driver] = {{"Devices", list}};
  }
  return {{"ClaimUID", claim.uid},
          {"ClaimName", claim.name},
          {"Namespace", claim.nameSpace},
          {"PodUIDs", pods},
          {"DriverState", drivers}};
}

ClaimRecord claimOf(const ClaimJson& json) {
  ClaimRecord claim{.uid = json.at("ClaimUID"),
                    .name = json.at("ClaimName"),
                    .nameSpace = json.at("Namespace"),
                    .podUids = {},
                    .drivers = {}};
  for (const auto& [uid, nothing] : json.at("PodUIDs").items()) claim.podUids.insert(uid);
  for (const auto& [driver, state] : json.at("DriverState").items()) {
    auto& devices = claim.drivers[driver];
    for (const ClaimJson& device : state.at("Devices")) {
      ClaimDevice read{.pool = device.at("PoolName"),
                       .device = device.at("DeviceName"),
                       .shareId = {},
                       .requests = listOf(device.at("RequestNames")),
                       .cdiDevices = listOf(device.at("CDIDeviceIDs"))};
      if (!device.at("ShareID").is_null()) read.shareId = device.at("ShareID");
      devices.push_back(std::move(read));
    }
  }
  return claim;
}

}  // namespace

std::uint32_t crc32Of(std::string_view text) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::string formatClaims(const ClaimRecords& claims) {
  ClaimJson list = nullptr;
  if (claims) {
    list = ClaimJson::array();
    for (const ClaimRecord& claim : *claims) list.push_back(claimJson(claim));
  }
  const ClaimJson inner = {
      {"kind", kKind}, {"apiVersion", kApiVersion}, {"ClaimInfoStateList", list}};
  const std::string data = goJson(inner.dump());
  return goJson(ClaimJson{{"Data", data}, {"Checksum", crc32Of(data)}}.dump());
}

bool parseClaims(const std::string& text, ClaimRecords& claims) {
  try {
    const ClaimJson file = ClaimJson::parse(text);
    const std::string data = file.at("Data");
    if (file.at("Checksum").get<std::uint32_t>() != crc32Of(data)) return false;
    const ClaimJson inner = ClaimJson::parse(data);
    if (inner.at("kind") != kKind || inner.at("apiVersion") != kApiVersion) return false;
    const ClaimJson& list = inner.at("ClaimInfoStateList");
    claims.reset();
    if (!list.is_null()) claims.emplace();
    for (const ClaimJson& claim : list) claims->push_back(claimOf(claim));
    return true;
  } catch (const std::exception&) {
    // The library reports by exception what this function says with false: not such a file.
    return false;
  }
}

std::vector<std::pair<std::string, ClaimDevice>> devicesFor(const ClaimRecord& claim,
                                                            const std::string& request) {
  std::vector<std::pair<std::string, ClaimDevice>> chosen;
  for (const auto& [driver, devices] : claim.drivers) {
    for (const ClaimDevice& device : devices) {
      const auto& names = device.requests;
      if (request.empty() || names.empty() || std::ranges::find(names, request) != names.end()) {
        chosen.emplace_back(driver, device);
      }
    }
  }
  return chosen;
}

}  // namespace vfiogate::sim
