#include "privd/cli/base/daemon_session.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

DaemonSession::DaemonSession(kj::AsyncIoContext& io, kj::AutoCloseFd socket)
    : io_(io), daemon_(*io.lowLevelProvider, kj::mv(socket), kFromPrivd) {}

Result<schema::Session::Client, std::string> DaemonSession::enter() {
  auto enter = daemon_.bootstrap<schema::Handshake>().enterRequest();
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
