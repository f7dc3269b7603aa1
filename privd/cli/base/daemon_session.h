#pragma once
// A session of the command line with the running daemon.

#include "ipc/base/result.h"
#include "ipc/schema/helper.capnp.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Throws where the daemon breaks off.
class DaemonSession {
public:
  /// `socket` is connected.
  DaemonSession(kj::AsyncIoContext& io, kj::AutoCloseFd socket);

  /// Waits for the daemon's answer. Error: it is of another release; in words.
  Result<schema::Session::Client, std::string> enter();

  /// Resolves when the daemon is gone.
  kj::Promise<void> ended() { return network_.onDisconnect(); }

private:
  kj::AsyncIoContext& io_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace vfiogate
