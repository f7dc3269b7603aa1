#pragma once
// plugind's end of the hardware process's connection. That one is a stranger, too: it has less
// power than plugind, and must not have plugind's memory.

#include "ipc/codec/metered_stream.h"
#include "ipc/socket/stream_flags.h"

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>

#include <string>

namespace vfiogate {

/// For as long as the connection is asked. The loop's thread only.
class HardwareConnection {
public:
  HardwareConnection(kj::LowLevelAsyncIoProvider& streams, kj::Timer& timer,
                     kj::AutoCloseFd connected)
      : stream_(streams.wrapSocketFd(kj::mv(connected), kStreamFlags)),
        metered_(*stream_, timer, kHardwareBounds),
        network_(metered_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
        rpc_(capnp::makeRpcClient(network_)) {
    metered_.countQueueWith([this]() { return network_.getCurrentQueueCount(); });
  }
  KJ_DISALLOW_COPY(HardwareConnection);

  /// What it serves; a call on it fails where it breaks off.
  template <typename Interface>
  typename Interface::Client bootstrap() {
    capnp::MallocMessageBuilder message;
    auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    return rpc_.bootstrap(server).castAs<Interface>();
  }

  /// Resolves when it left or broke a rule, with the reason, for the log. Hang up then. Once.
  kj::Promise<std::string> ended() {
    auto left = network_.onDisconnect().then([]() { return std::string("privd-hardware left"); });
    auto offended = metered_.offended().then([](Offence offence) {
      return std::string("privd-hardware broke a rule: ") + reasonOf(offence).cStr();
    });
    return left.exclusiveJoin(kj::mv(offended));
  }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  MeteredStream metered_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace vfiogate
