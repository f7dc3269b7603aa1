// Whatever JSON the API server has for a claim: it is refused in words, or what is read of it is
// within the API's bounds and goes over RPC to plugind; a report is written into it once.

#include "ipc/api/api_codec.h"
#include "ipc/types/claim_spec.h"
#include "netd/dra/claims/claim_json.h"
#include "tests/fuzz/fuzz_input.h"

#include <capnp/message.h>

#include <string>

namespace vfiogate {
namespace {

constexpr const char* kDriver = "vfio.vfiogate.dev";

ReportedDevice reportedOf(const AllocatedDevice& device) {
  return {.pool = device.pool,
          .device = device.device,
          .shareId = device.shareId,
          .ready = device.badParameters.empty(),
          .reason = "Prepared",
          .message = device.badParameters,
          .address = "0000:01:00.0"};
}

/// Written twice nothing is left to write.
void checkReport(std::string_view text, const AllocatedClaim& claim) {
  ClaimReport report{.driver = kDriver, .claimNamespace = "ml", .name = "train", .uid = claim.uid};
  for (const AllocatedDevice& device : claim.devices) report.devices.push_back(reportedOf(device));
  const auto first = claimWithReport(text, report, std::chrono::sys_seconds());
  if (!first || !*first) return;
  const auto second = claimWithReport(**first, report, std::chrono::sys_seconds());
  require(second && !*second);
  const auto again = readClaim(**first, kDriver);
  require(again && *again == claim);
}

void checkClaim(const AllocatedClaim& claim) {
  require(claim.devices.size() <= kMostClaimDevices && claim.uid.size() <= 128);
  for (const AllocatedDevice& device : claim.devices) {
    require(!device.request.empty() && !device.pool.empty() && !device.device.empty());
    require(isOneLine(device.badParameters));
  }
  capnp::MallocMessageBuilder message;
  encode(ClaimAnswer(claim), message.initRoot<schema::ClaimAnswer>());
  const auto told = decode(message.getRoot<schema::ClaimAnswer>().asReader());
  require(told && *told == ClaimAnswer(claim));
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  const std::string_view text = textOf(data, size);
  if (const auto path = claimPath(ResourceApi::kV1, "ml", std::string(text)))
    require(isOneLine(*path));
  const auto claim = readClaim(text, kDriver);
  if (!claim) {
    require(isOneLine(claim.error()));
    return 0;
  }
  checkClaim(*claim);
  checkReport(text, *claim);
  return 0;
}
