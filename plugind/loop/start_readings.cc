#include "plugind/loop/kubelet_reader.h"

#include "plugind/base/log_line.h"
#include "plugind/dra/claims/claim_record.h"

#include <utility>

namespace vfiogate {
namespace {

using Claims = Result<std::vector<PrepareRequest>, std::string>;

PrepareRequest heldBy(const ClaimSpec& spec) {
  PrepareRequest request{.claim = {spec.uid, spec.claimNamespace, spec.name}, .devices = {}};
  for (const ClaimDevice& device : spec.devices) {
    const auto resource = ResourceName::parse(device.resource);
    if (resource) request.devices[*resource].insert(device.address);
  }
  return request;
}

Claims claimsOf(const Result<std::vector<std::string>, SpecTrouble>& texts) {
  std::vector<PrepareRequest> claims;
  if (!texts) {
    if (texts.error().passing) return Failure{texts.error().why};
    return claims;
  }
  for (const std::string& text : *texts) {
    const auto spec = readClaimSpec(text);
    if (spec) {
      claims.push_back(heldBy(*spec));
    } else {
      logError(LogEvent::kClaimSpecUnread, {{"why", spec.error()}});
    }
  }
  return claims;
}

}  // namespace

kj::Promise<StartReadings> readStart(KubeletReader& kubelet, PrivdLink& privd) {
  return kubelet.version().then(
      [&kubelet, &privd](Result<CheckpointVersion, SocketRefusal> version) {
        return kubelet.list().then(
            [&privd, version = std::move(version)](Result<PodList, std::string> list) mutable {
              return privd.claimSpecTexts().then(
                  [version = std::move(version), list = std::move(list)](
                      const Result<std::vector<std::string>, SpecTrouble>& texts) mutable {
                    return StartReadings{std::move(version), std::move(list), claimsOf(texts)};
                  });
            });
      });
}

}  // namespace vfiogate
