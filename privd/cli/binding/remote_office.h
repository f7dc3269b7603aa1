#pragma once
// The daemon's desk, as the command line asks it.

#include "privd/bind/binding_office.h"
#include "privd/cli/base/daemon_session.h"

namespace vfiogate {

/// Waits for the daemon's answer where the office answers at once. Throws where the daemon breaks
/// off or says what makes no sense. Whoever asks is known to the daemon: `who` is not told.
class RemoteOffice final : public BindingOffice {
public:
  /// Error: the daemon has no desk for this user, or is of another release; in words.
  static Result<kj::Own<BindingOffice>, std::string> open(kj::AsyncIoContext& io,
                                                          kj::AutoCloseFd socket);

  RemoteOffice(kj::AsyncIoContext& io, kj::Own<DaemonSession> session,
               schema::BindDesk::Client desk)
      : io_(io), session_(kj::mv(session)), desk_(kj::mv(desk)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer who) override;
  Result<Done, std::string> hold(const Bdf& address, const std::string& reason,
                                 const AuditPeer& who) override;
  Result<Done, std::string> release(const Bdf& address, const AuditPeer& who) override;
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) override;
  std::vector<OperatorHold> holds() override;
  std::vector<DeviceIdentity> declared() override;

private:
  using KeepRequest = capnp::Request<schema::BindDesk::KeepParams, schema::BindDesk::KeepResults>;
  KeepRequest actOn(const Bdf& address);
  Result<Done, std::string> send(KeepRequest request);

  kj::AsyncIoContext& io_;
  kj::Own<DaemonSession> session_;
  schema::BindDesk::Client desk_;
};

}  // namespace vfiogate
