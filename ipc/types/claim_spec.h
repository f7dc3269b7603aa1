#pragma once
// What plugind wants in the CDI spec of one prepared claim.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/vfio_nodes.h"

namespace vfiogate {

/// The API's own limit of a claim's results.
constexpr std::size_t kMostClaimDevices = 32;

struct ClaimDevice {
  Bdf address;
  std::string resource;  ///< under which it is held
  Backend backend = Backend::kAuto;
  std::set<Bdf> hands;  ///< whose nodes it hands over, itself included; all in one IOMMU group
  std::string request;  ///< the request's name, without a sub-request

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

  friend bool operator==(const ClaimSpec&, const ClaimSpec&) = default;
};

}  // namespace vfiogate
