#include "privd/cli/base/daemon_session.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/unix_socket.h"

namespace vfiogate {

DaemonSession::DaemonSession(kj::AsyncIoContext& io, kj::AutoCloseFd socket)
    : io_(io),
      stream_(io.lowLevelProvider->wrapSocketFd(kj::mv(socket), kStreamFlags)),
      network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
      rpc_(capnp::makeRpcClient(network_)) {}

Result<schema::Session::Client, std::string> DaemonSession::enter() {
  capnp::MallocMessageBuilder vat;
  auto host = vat.initRoot<capnp::rpc::twoparty::VatId>();
  host.setSide(capnp::rpc::twoparty::Side::SERVER);
  auto enter = rpc_.bootstrap(host).castAs<schema::Handshake>().enterRequest();
  enter.setProtocol(schema::PROTOCOL);
  auto entered = enter.send().wait(io_.waitScope);
  const auto answer = entered.getAnswer();
  if (answer.isWrongProtocol()) {
    return Failure{"the daemon speaks version " + std::to_string(answer.getWrongProtocol()) +
                   ", this program version " + std::to_string(schema::PROTOCOL) +
                   ": use the program of the daemon's release"};
  }
  return entered.getAnswer().getSession();
}

}  // namespace vfiogate
