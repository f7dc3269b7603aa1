#include "plugind/self_test/played_privd.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/self_test/played_roles.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr auto kRedial = 10 * kj::MILLISECONDS;

/// Both of privd's processes, connected.
struct Connection {
  Connection(kj::AsyncIoContext& io, kj::AutoCloseFd channel, kj::AutoCloseFd hardware,
             const ScratchPlaces& places)
      : gate(io.unixEventPort, kj::mv(channel), places),
        stream(io.lowLevelProvider->wrapSocketFd(kj::mv(hardware), kStreamFlags)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
        rpc(capnp::makeRpcServer(network, playedHardware())) {}

  PlayedGate gate;
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

/// Null: plugind does not listen yet.
kj::Maybe<kj::Own<Connection>> dial(kj::AsyncIoContext& io, const ScratchPlaces& places) {
  auto hardware = dialAt(places.plugind().c_str());
  auto gate = dialAt(places.plugind().c_str());
  if (!hardware || !gate || !sendHardwareOpening(*hardware, kChannelVersion)) return nullptr;
  auto channel = sendChannelOpening(*gate, PrivdRole::kGate, kChannelVersion);
  if (!channel) return nullptr;
  return kj::heap<Connection>(io, kj::mv(channel).value(), kj::mv(hardware).value(), places);
}

}  // namespace

PlayedPrivd::PlayedPrivd(ScratchPlaces places, std::function<bool()> isOver,
                         std::function<void()> left)
    : places_(std::move(places)),
      isOver_(std::move(isOver)),
      left_(std::move(left)),
      thread_([this]() { run(); }) {}

PlayedPrivd::~PlayedPrivd() {
  thread_.join();
}

void PlayedPrivd::run() {
  auto io = kj::setupAsyncIo();
  auto made = dial(io, places_);
  while (made == nullptr && !isOver_()) {
    io.provider->getTimer().afterDelay(kRedial).wait(io.waitScope);
    made = dial(io, places_);
  }
  KJ_IF_MAYBE (connection, made) (*connection)->gate.serve().wait(io.waitScope);
  left_();
}

}  // namespace vfiogate
