#include "ipc/types/claim_spec.h"

#include "ipc/base/kube_names.h"

#include <algorithm>
#include <array>

namespace vfiogate {
namespace {

using Fault = std::optional<std::string>;

std::string withUnderscores(std::string text) {
  for (char& c : text) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

Fault faultIn(const ClaimDevice& device) {
  if (!ResourceName::parse(device.resource)) return "resource: no extended resource name";
  if (!isDnsLabel(device.request)) return "request: no DNS label";
  if (!device.hands.contains(device.address)) return "hands: not the device itself";
  return std::nullopt;
}

Fault faultInDevices(const std::vector<ClaimDevice>& devices) {
  if (devices.empty() || devices.size() > kMostClaimDevices) return "devices: none, or above 32";
  std::size_t hands = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string where = "devices[" + std::to_string(i) + "].";
    if (const Fault fault = faultIn(devices[i])) return where + *fault;
    if (i > 0 && devices[i - 1].address >= devices[i].address) return where + "address: no order";
    hands += devices[i].hands.size();
  }
  if (hands > kMostClaimHands) return "devices: more than 1024 hands in all";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> faultIn(const ClaimSpec& spec) {
  if (!isDraDriver(spec.driver)) return "driver: no name of a DRA driver";
  if (!isUid(spec.uid)) return "uid: no UUID in lower case";
  if (!isDnsLabel(spec.claimNamespace)) return "claimNamespace: no DNS label";
  if (!isDnsSubdomain(spec.name)) return "name: no DNS subdomain";
  if (!spec.podClaimName.empty() && !isDnsLabel(spec.podClaimName)) {
    return "podClaimName: no DNS label";
  }
  if (!spec.pool.empty() && !isPoolName(spec.pool)) return "pool: no name of a pool";
  return faultInDevices(spec.devices);
}

std::string addressWith(char separator, const UnitId& address) {
  std::string text = address.str();
  for (char& c : text) {
    if (c == ':' || c == '.') c = separator;
  }
  return text;
}

std::string claimDeviceName(const std::string& uid, const UnitId& address) {
  return uid + "-" + addressWith('-', address);
}

std::string claimVariable(const std::string& uid) {
  return "VFIOGATE_CLAIM_" + withUnderscores(uid);
}

std::string deviceVariable(const UnitId& address) {
  return "VFIOGATE_DEVICE_" + withUnderscores(addressWith('_', address));
}

std::string_view handlesWord(Backend backend) {
  constexpr std::array<std::string_view, 6> kWords{"auto", "legacy",       "iommufd",
                                                   "both", "auto-iommufd", "noiommu"};
  return kWords.at(static_cast<std::size_t>(backend));
}

}  // namespace vfiogate
