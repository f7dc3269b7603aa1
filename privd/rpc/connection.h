#pragma once
// One peer's Cap'n Proto connection, within its limits.

#include "ipc/codec/metered_stream.h"
#include "privd/rpc/helper_server.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

namespace vfiogate {

/// Serves the privilege line on `stream` until the peer leaves or breaks a limit, or the service
/// hangs up. Destroying it closes the connection and frees all that the peer made us hold.
class Connection {
public:
  Connection(Node& node, Rights rights, kj::Maybe<DescriptorSender> channel,
             kj::Own<kj::AsyncIoStream> stream, AuditPeer who);

  /// Resolves when it is over, with the reason for the log; empty: the peer just left.
  kj::Promise<kj::String> ended();

  /// True: no call of the peer's waits for an answer, and there was one; a watcher is.
  bool settled() const { return metered_.settled(); }
  /// Ends it; `why` is for the log.
  void hangUp(kj::StringPtr why) { hungUp_.fulfiller->fulfill(kj::str(why)); }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  kj::PromiseFulfillerPair<kj::String> hungUp_;
  MeteredStream metered_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace vfiogate
