// Whatever bytes come as a declaration of specs, or as the spec of a claim: decoding refuses them
// in words, or what it makes of them keeps to every bound; and a claim's spec that privd wrote is
// read again as it was asked for.

#include "ipc/codec/limits.h"
#include "ipc/codec/request_messages.h"
#include "plugind/dra/claims/claim_record.h"
#include "privd/cdi/cdi_spec.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/fuzz_input.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace vfiogate {
namespace {

void checkBounds(const std::vector<StaticSpec>& specs) {
  std::set<std::string> names;
  std::size_t devices = 0;
  for (const StaticSpec& spec : specs) {
    names.insert(spec.resource);
    devices += spec.devices.size();
    require(std::ranges::adjacent_find(spec.devices, std::greater_equal<>()) == spec.devices.end());
  }
  require(specs.size() <= kMostSpecs && names.size() == specs.size());
  require(devices <= kMostSpecDevices);
}

void decodeDeclaration(capnp::MessageReader& reader) {
  const auto decoded = decode(reader.getRoot<schema::Session::DeclareSpecsParams>().getSpecs());
  if (!decoded) return require(!decoded.error().what.empty());
  checkBounds(*decoded);
}

void decodeClaim(capnp::MessageReader& reader) {
  const auto spec = decode(reader.getRoot<schema::Session::WriteClaimSpecParams>().getSpec());
  if (!spec) return require(!spec.error().what.empty());
  require(!faultIn(*spec) && spec->devices.size() <= kMostClaimDevices);
  const std::vector<std::vector<std::string>> nodes(spec->devices.size(), {"/dev/vfio/7"});
  const std::string text = claimSpecText(*spec, nodes, "/var/run/vfiogate/metadata");
  if (text.size() > kLongestClaimSpec) return;
  const auto again = readClaimSpec(text);
  require(again && *again == *spec);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  readMessage(data, size, kFromPeer, decodeDeclaration, decodeClaim);
  return 0;
}
