#pragma once
// One peer's Cap'n Proto connection, within its limits.

#include "ipc/codec/metered_stream.h"
#include "privd/hardware/helper_server.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <string>

namespace vfiogate {

/// Serves the privilege line on `stream` until the peer leaves or breaks a limit, or the service
/// hangs up. Destroying it closes the connection and frees all that the peer made us hold.
class Connection {
public:
  /// Borrows `node`.
  Connection(Node& node, kj::Own<kj::AsyncIoStream> stream);

  /// Resolves when it is over, with the reason for the log; empty: the peer just left.
  kj::Promise<std::string> ended();

private:
  kj::Own<kj::AsyncIoStream> stream_;
  kj::PromiseFulfillerPair<std::string> hungUp_;
  MeteredStream metered_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace vfiogate
