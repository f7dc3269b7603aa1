#include "sim/kubelet/dra/claim_record.h"

#include <algorithm>

namespace vfiogate::sim {

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
