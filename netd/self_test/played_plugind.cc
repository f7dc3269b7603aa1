#include "netd/self_test/played_plugind.h"

#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"

#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include <utility>

namespace vfiogate {

class PlayedPlugind::Control final : public schema::Control::Server {
public:
  explicit Control(PlayedPlugind& owner) : owner_(owner) {}

protected:
  kj::Promise<void> metrics(MetricsContext context) override {
    context.getResults().setText("# TYPE vfiogate_self_test gauge\nvfiogate_self_test 1\n");
    return kj::READY_NOW;
  }
  kj::Promise<void> ready(ReadyContext context) override {
    auto answer = context.getResults();
    answer.setReady(true);
    answer.setWhy("it is played");
    return kj::READY_NOW;
  }
  kj::Promise<void> attach(AttachContext context) override {
    context.getResults().initAnswer().setDriver("self-test.vfiogate.dev");
    owner_.attached_.fulfiller->fulfill(context.getParams().getApi());
    return kj::READY_NOW;
  }

private:
  PlayedPlugind& owner_;
};

struct PlayedPlugind::Connection {
  Connection(kj::Own<kj::AsyncIoStream> accepted, schema::Control::Client control)
      : stream(kj::mv(accepted)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER),
        rpc(capnp::makeRpcServer(network, kj::mv(control))) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

PlayedPlugind::PlayedPlugind(kj::AsyncIoContext& io, const std::string& directory) {
  auto made = listenAt(directory.c_str(), "plugind.sock", WhoMayConnect::kEverybody);
  KJ_REQUIRE(made.has_value(), "no socket for a played plugind");
  listener_ = io.lowLevelProvider->wrapListenSocketFd(kj::mv(made).value(), kStreamFlags);
  accepting_ = acceptForever().eagerlyEvaluate(nullptr);
}

PlayedPlugind::~PlayedPlugind() noexcept(false) = default;

kj::Promise<void> PlayedPlugind::acceptForever() {
  return listener_->accept().then([this](kj::Own<kj::AsyncIoStream> stream) {
    connections_.add(kj::heap<Connection>(kj::mv(stream), kj::heap<Control>(*this)));
    return acceptForever();
  });
}

}  // namespace vfiogate
