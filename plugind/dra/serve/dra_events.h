#pragma once
// What the kubelet asks of the DRA driver.

#include "plugind/dra/claims/claims_call.h"
#include "plugind/dra/pool/health_stream.h"

#include <memory>
#include <string>

namespace vfiogate {

/// Told on the loop's thread, and lives for as long as that carries letters out.
class DraEvents {
public:
  /// NodePrepareResources or NodeUnprepareResources, of either version.
  virtual void claimsAsked(std::shared_ptr<ClaimsCall> call) = 0;
  /// The kubelet hung up before the call was answered.
  virtual void claimsCancelled(const std::shared_ptr<ClaimsCall>& call) = 0;
  virtual void healthOpened(std::shared_ptr<HealthStream> stream) = 0;
  /// The kubelet hung up, or disconnected, or we ended it. `stream` is only an identity.
  virtual void healthEnded(const HealthStream& stream) = 0;
  /// NotifyRegistrationStatus. `error` is empty where it is registered.
  virtual void registrationTold(bool registered, const std::string& error) = 0;

protected:
  ~DraEvents() = default;
};

}  // namespace vfiogate
