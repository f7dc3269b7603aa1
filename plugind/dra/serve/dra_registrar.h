#pragma once
// Keeps the DRA driver where the kubelet finds it: serve first, then register.

#include "plugind/base/alarm.h"
#include "plugind/core/dra/dra_registration.h"
#include "plugind/core/status/registration.h"
#include "plugind/dra/serve/dra_server.h"
#include "plugind/kubelet/kubelet_sockets.h"

#include <kj/async.h>

#include <string>

namespace vfiogate {

/// Carries out what DraRegistration decides. Each attempt has the service's socket made and serves
/// it, and only then the registration's, through which the kubelet comes (kubelet-contract.md T21).
/// The loop's thread only.
class DraRegistrar {
public:
  /// Borrows `sockets` and `server`.
  DraRegistrar(std::string driver, DraSockets& sockets, DraServer& server, const LoopDeps& loop);
  KJ_DISALLOW_COPY(DraRegistrar);

  void start();
  /// privd is back.
  void socketsCame();
  /// DraEvents was told so.
  void registrationTold(bool registered, const std::string& error);

  DraRegistrationState state() const { return registration_.state(); }
  /// Why the driver is not registered, for people; empty: nothing went wrong.
  const std::string& trouble() const { return trouble_; }

private:
  void begin();
  void tick();
  kj::Promise<void> attempt();
  /// Why the sockets could not be had; empty: both are there.
  kj::Promise<std::string> makeSockets();
  kj::Promise<std::string> makeRegistration(const std::string& endpoint);
  void ended(const std::string& why);
  void complain(RegistrationTurn turn, const std::string& why);

  const std::string driver_;
  DraSockets& sockets_;
  DraServer& server_;
  const LoopDeps loop_;
  DraRegistration registration_;
  std::string trouble_;
  kj::Promise<void> attempt_ = nullptr;
  Alarm alarm_;
};

}  // namespace vfiogate
