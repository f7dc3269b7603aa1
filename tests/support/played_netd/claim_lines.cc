#include "tests/support/played_netd/claim_lines.h"

#include <sstream>
#include <utility>

namespace vfiogate::test {

Result<ClaimLines, std::string> readClaimLines(const std::string& text, const std::string& pool) {
  ClaimLines claims;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    AllocatedClaim claim{.uid = "", .allocated = true, .podClaimName = "", .devices = {}};
    if (!(words >> name >> claim.uid) || name.find('/') == std::string::npos) {
      return Failure{"no claim: " + line};
    }
    DeviceParameters parameters;
    for (std::string word; words >> word;) {
      if (word == "bind=never") {
        parameters.bindNever = true;
      } else {
        claim.devices.push_back(AllocatedDevice{.request = "main",
                                                .pool = pool,
                                                .device = word,
                                                .parameters = {},
                                                .badParameters = ""});
      }
    }
    for (AllocatedDevice& device : claim.devices) device.parameters = parameters;
    claims.insert_or_assign(name, std::move(claim));
  }
  return claims;
}

}  // namespace vfiogate::test
