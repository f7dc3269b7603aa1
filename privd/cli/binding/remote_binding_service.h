#pragma once
// The daemon's control service, as the command line asks it.

#include "privd/bind/binding_service.h"
#include "privd/cli/base/daemon_session.h"

namespace vfiogate {

/// Waits for the daemon's answer where the service answers at once. Throws where the daemon breaks
/// off or says what makes no sense. Whoever asks is known to the daemon: `who` is not told.
class RemoteBindingService final : public BindingService {
public:
  /// Error: the daemon has no control service for this user, or is of another release; in words.
  static Result<kj::Own<BindingService>, std::string> open(kj::AsyncIoContext& io,
                                                           kj::AutoCloseFd socket);

  RemoteBindingService(kj::AsyncIoContext& io, kj::Own<DaemonSession> session,
                       schema::BindControl::Client control)
      : io_(io), session_(kj::mv(session)), control_(kj::mv(control)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer who) override;
  Result<Done, std::string> exclude(const Bdf& address, const std::string& reason,
                                    const AuditPeer& who) override;
  Result<Done, std::string> release(const Bdf& address, const AuditPeer& who) override;
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) override;
  std::vector<Exclusion> exclusions() override;
  std::vector<DeviceIdentity> declared() override;

private:
  using KeepRequest =
      capnp::Request<schema::BindControl::KeepParams, schema::BindControl::KeepResults>;
  KeepRequest actOn(const Bdf& address);
  Result<Done, std::string> send(KeepRequest request);

  kj::AsyncIoContext& io_;
  kj::Own<DaemonSession> session_;
  schema::BindControl::Client control_;
};

}  // namespace vfiogate
