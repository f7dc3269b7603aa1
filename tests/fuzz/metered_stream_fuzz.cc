// Whatever bytes a peer sends to a server of the privilege line: the server outlives them, and is
// rid of the connection once the peer has left.

#include "tests/support/played/raw_peer.h"
#include "tests/support/played/rpc_server.h"

#include <kj/async-io.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using vfiogate::RpcServer;
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  static RpcServer server(io);
  const int endedBefore = server.ended();
  {
    vfiogate::RawPeer peer(server.connect(vfiogate::Metering::kOn));
    peer.sendBytes(kj::arrayPtr(data, size));
    io.waitScope.poll();
    peer.drain();
    io.waitScope.poll();
  }
  io.waitScope.poll();
  if (server.ended() != endedBefore + 1) std::abort();
  return 0;
}
