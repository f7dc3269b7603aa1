// Whatever text lies where a claim's spec should be: reading it says in words that it tells
// nothing; or what it tells is what privd would write for it, and reads as the same.

#include "plugind/dra/claims/claim_record.h"
#include "privd/cdi/cdi_spec.h"
#include "tests/fuzz/fuzz_input.h"

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  const auto spec = readClaimSpec(std::string(textOf(data, size)));
  if (!spec) {
    require(!spec.error().empty());
    return 0;
  }
  require(!faultIn(*spec) && spec->devices.size() <= kMostClaimDevices);
  const std::vector<std::vector<std::string>> nodes(spec->devices.size(), {"/dev/vfio/7"});
  const auto again = readClaimSpec(claimSpecText(*spec, nodes, "/metadata"));
  require(again && *again == *spec);
  return 0;
}
