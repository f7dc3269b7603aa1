#pragma once
// The DRA driver that plugind is, if its configuration names one: the kubelet's calls about claims,
// and the node's pool.

#include "plugind/base/task_queue.h"
#include "plugind/dra/api/api_listener.h"
#include "plugind/dra/claims/claim_handler.h"
#include "plugind/dra/claims/claim_sweep.h"
#include "plugind/dra/pool/pool_publisher.h"
#include "plugind/dra/serve/dra_events.h"
#include "plugind/dra/serve/dra_registrar.h"
#include "plugind/dra/serve/dra_server.h"
#include "plugind/privd/link/privd_link.h"

#include <sys/types.h>

#include <memory>
#include <string>

namespace vfiogate {

/// The loop's thread only.
class DraDriver final : public ClaimServer, public DraEvents, public ApiListener {
public:
  /// Who the driver is: its name, never empty, and what it calls its devices.
  struct Identity {
    std::string name;
    std::shared_ptr<const ProductNames> products;
  };

  /// Borrows all but the identity.
  DraDriver(Identity identity, PrivdLink& privd, ClaimLedger& ledger, const LoopDeps& loop,
            uid_t kubeletUid);
  KJ_DISALLOW_COPY(DraDriver);

  void socketsCame() override { registrar_.socketsCame(); }
  void begun() override { registrar_.start(); }
  void carryOut(const Effects& effects) override;
  bool answered(const Answer& answer) override { return claims_.answered(answer); }
  DriverStatus status() const override;

  void claimsAsked(std::shared_ptr<ClaimsCall> call) override { claims_.asked(call); }
  void claimsCancelled(const std::shared_ptr<ClaimsCall>& call) override {
    claims_.cancelled(call);
  }
  void healthOpened(std::shared_ptr<HealthStream> stream) override;
  void healthEnded(const HealthStream& stream) override { pool_.healthEnded(stream); }
  void registrationTold(bool registered, const std::string& error) override;

  const std::string& driver() const override { return name_; }
  std::shared_ptr<void> attach(schema::ApiServer::Client api, std::string node) override;

private:
  const std::string name_;
  ApiLink api_;
  ClaimSpecs specs_;
  ClaimHandler claims_;
  ClaimSweep sweep_;
  PoolPublisher pool_;
  DraServer server_;
  DraRegistrar registrar_;
};

}  // namespace vfiogate
