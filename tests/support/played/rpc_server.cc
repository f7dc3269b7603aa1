#include "tests/support/played/rpc_server.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/stream_flags.h"

#include <kj/debug.h>

#include <sys/socket.h>

namespace vfiogate {
namespace {

class ControlServer final : public schema::GroupControl::Server {
protected:
  kj::Promise<void> reread(RereadContext context) override {
    constexpr std::size_t kText = 4000;
    constexpr auto kDevices = static_cast<capnp::uint>(RpcServer::kRereadBytes / kText + 1);
    auto devices = context.getResults().initAnswer().initSeen().initDevices(kDevices);
    for (capnp::uint i = 0; i < kDevices; ++i) {
      devices[i].initAddress().setBus(static_cast<std::uint8_t>(i));
      devices[i].initModalias(kText);
    }
    return kj::READY_NOW;
  }
};

class SubscriptionServer final : public schema::Subscription::Server {};

class SessionServer final : public schema::Session::Server {
public:
  /// `over`: the connection is. Cap'n Proto 1.1 lets a call that runs go on without whoever made
  /// it. Borrowed, so that a session costs as little as privd's.
  explicit SessionServer(kj::ForkedPromise<void>& over) : over_(over) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    auto observer = context.getParams().getObserver();
    auto request = observer.changedRequest();
    auto group = request.initUpdate().initFull().initGroups(1)[0];
    group.setId(7);
    group.setControl(kj::heap<ControlServer>());
    telling_ = request.send().ignoreResult().eagerlyEvaluate([](kj::Exception&& /*gone*/) {});
    context.getResults().setSubscription(kj::heap<SubscriptionServer>());
    return kj::READY_NOW;
  }

  /// Is never answered.
  kj::Promise<void> discovery(DiscoveryContext /*context*/) override { return over_.addBranch(); }

private:
  kj::ForkedPromise<void>& over_;
  kj::Promise<void> telling_ = kj::READY_NOW;
};

class HandshakeServer final : public schema::Handshake::Server {
public:
  explicit HandshakeServer(kj::ForkedPromise<void>& over) : over_(over) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    context.getResults().initAnswer().setSession(kj::heap<SessionServer>(over_));
    return kj::READY_NOW;
  }

private:
  kj::ForkedPromise<void>& over_;
};

}  // namespace

struct RpcServer::Connection {
  Connection(kj::Own<kj::AsyncIoStream> s, kj::Timer& timer, Metering metering)
      : stream(kj::mv(s)),
        metered(*stream, timer),
        unmetered(*stream),
        network(messages(metering), capnp::rpc::twoparty::Side::SERVER, kFromPeer),
        rpc(capnp::makeRpcServer(network, kj::heap<HandshakeServer>(over))) {
    rpc.setFlowLimit(kFlowLimitWords);
    metered.countQueueWith([this]() { return network.getCurrentQueueCount(); });
  }

  capnp::MessageStream& messages(Metering metering) {
    if (metering == Metering::kOn) return metered;
    return unmetered;
  }

  kj::PromiseFulfillerPair<void> lives = kj::newPromiseAndFulfiller<void>();
  kj::ForkedPromise<void> over = lives.promise.fork();
  kj::Own<kj::AsyncIoStream> stream;
  MeteredStream metered;
  capnp::AsyncIoMessageStream unmetered;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

RpcServer::RpcServer(kj::AsyncIoContext& io) : io_(io), connections_(*this) {}

kj::AutoCloseFd RpcServer::connect(Metering metering) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
  kj::AutoCloseFd theirs(pair[1]);
  serve(io_.lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(pair[0]), kStreamFlags), metering);
  return theirs;
}

void RpcServer::serve(kj::Own<kj::AsyncIoStream> stream, Metering metering) {
  auto connection = kj::heap<Connection>(kj::mv(stream), io_.provider->getTimer(), metering);
  auto left = connection->network.onDisconnect();
  auto offended =
      connection->metered.offended().then([this](Offence offence) { offence_ = offence; });
  connections_.add(
      left.exclusiveJoin(kj::mv(offended)).attach(kj::mv(connection)).then([this]() { ++ended_; }));
}

void RpcServer::taskFailed(kj::Exception&& exception) {
  KJ_LOG(ERROR, exception);
}

}  // namespace vfiogate
