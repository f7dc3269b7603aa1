#pragma once
// What plugind wants in the CDI spec of one prepared claim.
//
// The spec is the record of what was prepared: plugind reads it after a restart, privd only writes
// it. CDI takes no keys but its own, so what is not in the names is in environment variables,
// between semicolons:
//   of the spec      VFIOGATE_CLAIM_<UID>=<namespace>/<name>;<files>;<podClaimName>;<pool>
//   of each device   VFIOGATE_DEVICE_<ADDRESS>=<resource>;<request>;<handles>;<hands>
// <UID> is in upper case with '_' for '-', <ADDRESS> as 0000_17_00_0. <files>: metadata or none;
// <handles>: auto, legacy, iommufd or both; <hands>: addresses with commas between. The kind is
// <driver>/claim, a device's name <uid>-0000-17-00-0.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/types/vfio_nodes.h"

namespace vfiogate {

/// The API's own limit of a claim's results.
constexpr std::size_t kMostClaimDevices = 32;
/// Addresses in the hands of all of a claim's devices.
constexpr std::size_t kMostClaimHands = 1024;
/// Claims of one node, and bytes of the spec of each.
constexpr std::size_t kMostClaimSpecs = 256;
constexpr std::size_t kLongestClaimSpec = 65536;

struct ClaimDevice {
  UnitId address;
  std::string resource;  ///< under which it is held
  Backend backend = Backend::kAuto;
  std::set<UnitId> hands;  ///< whose nodes it hands over, itself included; all in one IOMMU group
  std::string request;     ///< the request's name, without a sub-request
  // For the metadata alone; the record does not keep them.
  std::optional<Bdf> root{};                ///< of the PCIe root complex: segment and bus count
  std::optional<std::uint32_t> numaNode{};  ///< absent: on none

  friend bool operator==(const ClaimDevice&, const ClaimDevice&) = default;
};

struct ClaimSpec {
  std::string driver;
  std::string uid;
  std::string claimNamespace;
  std::string name;
  std::vector<ClaimDevice> devices;  ///< ascending by address
  bool metadata = false;             ///< with a file a request in which KubeVirt finds addresses
  std::string podClaimName;          ///< of a claim made from a template; empty: it was not
  std::string pool;                  ///< that the devices are of; empty: not told

  friend bool operator==(const ClaimSpec&, const ClaimSpec&) = default;
};

/// Which part of it nobody may write, such as "devices[1].request: no DNS label"; absent: none.
/// What passes needs no escaping in JSON or in a path.
std::optional<std::string> faultIn(const ClaimSpec& spec);

/// "0000-17-00-0" with `separator` '-'.
std::string addressWith(char separator, const UnitId& address);
/// The name of the claim's device in its spec, and in the record the names of variables.
std::string claimDeviceName(const std::string& uid, const UnitId& address);
std::string claimVariable(const std::string& uid);
std::string deviceVariable(const UnitId& address);

/// As the record spells it.
std::string_view handlesWord(Backend backend);

}  // namespace vfiogate
