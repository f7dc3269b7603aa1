#pragma once
// One NodePrepareResources or NodeUnprepareResources of the kubelet, of v1 or v1beta1.

#include "plugind/core/dra/prepared_claim.h"
#include "plugind/core/holder_record.h"
#include "plugind/core/moment.h"
#include "plugind/kubelet/kubelet_call.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

/// Claims of one call; a pod has a handful.
constexpr std::size_t kMostCallClaims = 256;

/// Why a call for `claims` is none that a kubelet makes, for people: a name is missing or longer
/// than Kubernetes lets it be, a UID comes twice, or there are too many. Absent: nothing is wrong.
std::optional<std::string> objectionTo(const std::vector<ClaimName>& claims);

/// Answered once, as any call: claim() it, then answer() or refuse().
class ClaimsCall : public KubeletCall {
public:
  enum class Kind : std::uint8_t { kPrepare, kUnprepare };

  Kind kind() const { return kind_; }
  /// Each UID once, in the kubelet's order.
  const std::vector<ClaimName>& claims() const { return claims_; }
  Instant arrived() const { return arrived_; }

  /// One result for each of claims(). Of an unprepare only the errors are told.
  virtual void answer(const ClaimResults& results) = 0;

protected:
  ClaimsCall(Kind kind, std::vector<ClaimName> claims, std::shared_ptr<Responder> responder,
             Cancelled cancelled)
      : KubeletCall(std::move(responder), std::move(cancelled)),
        kind_(kind),
        claims_(std::move(claims)) {}

private:
  const Kind kind_;
  const std::vector<ClaimName> claims_;
  const Instant arrived_ = std::chrono::steady_clock::now();
};

}  // namespace vfiogate
