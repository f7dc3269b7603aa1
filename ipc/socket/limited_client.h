#pragma once
// The end of a connection that asks, with limits on what it takes.

#include "ipc/socket/stream_flags.h"

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>

namespace vfiogate {

/// For as long as the connection is asked. Cap'n Proto's own client takes no limits.
class LimitedClient {
public:
  /// `connected` is a socket. A message above `limits` is refused before it is stored.
  LimitedClient(kj::LowLevelAsyncIoProvider& streams, kj::AutoCloseFd connected,
                capnp::ReaderOptions limits)
      : stream_(streams.wrapSocketFd(kj::mv(connected), kStreamFlags)),
        network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, limits),
        rpc_(capnp::makeRpcClient(network_)) {}

  /// What the other end serves; a call on it fails where the other end breaks off.
  template <typename Interface>
  typename Interface::Client bootstrap() {
    capnp::MallocMessageBuilder message;
    auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    return rpc_.bootstrap(server).castAs<Interface>();
  }

  /// Resolves when the other end is gone.
  kj::Promise<void> ended() { return network_.onDisconnect(); }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace vfiogate
