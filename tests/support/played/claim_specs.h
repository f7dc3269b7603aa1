#pragma once
// Specs of claims as a DRA driver asks for them.

#include "ipc/types/claim_spec.h"

#include <string>
#include <vector>

namespace vfiogate::test {

inline const std::string kDraDriver = "vfio.vfiogate.dev";
inline const std::string kClaimUid = "c7e7b22e-239b-4498-b27c-7f1344481e14";

inline ClaimDevice claimDevice(const std::string& address, const std::string& request = "gpu") {
  const UnitId id = *UnitId::parse(address);
  return {.address = id,
          .resource = "vfiogate.dev/gpu",
          .backend = Backend::kAuto,
          .hands = {id},
          .request = request};
}

/// Of the claim ml/train. `devices`: ascending.
inline ClaimSpec claimSpec(const std::vector<std::string>& devices = {"0000:02:00.0"},
                           const std::string& uid = kClaimUid) {
  ClaimSpec spec{.driver = kDraDriver,
                 .uid = uid,
                 .claimNamespace = "ml",
                 .name = "train",
                 .devices = {},
                 .metadata = false,
                 .podClaimName = "",
                 .pool = "node-1"};
  for (const std::string& device : devices) spec.devices.push_back(claimDevice(device));
  return spec;
}

/// Another UID for each number below 1,000,000.
inline std::string claimUid(unsigned number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 12 - digits.size(), '0');
  return "00000000-0000-4000-8000-" + digits;
}

}  // namespace vfiogate::test
