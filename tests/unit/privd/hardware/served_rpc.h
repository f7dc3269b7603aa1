#pragma once
// The hardware process's servers over a made-up tree, and plugind's end of the connection: in one
// process.

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/socket/stream_flags.h"
#include "privd/hardware/connection.h"
#include "tests/support/fake_sysfs.h"

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <optional>

namespace vfiogate {

/// Takes what the peer is told of the hardware.
class TakingObserver final : public schema::Observer::Server {
public:
  explicit TakingObserver(std::optional<DecodedUpdate>& first) : first_(first) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    auto decoded = decode(context.getParams().getUpdate());
    KJ_ASSERT(decoded.has_value(), decoded.error().what.c_str());
    if (!first_) first_ = std::move(decoded).value();
    return kj::READY_NOW;
  }

private:
  std::optional<DecodedUpdate>& first_;
};

/// A connection that privd dialled, both ends of it.
class ServedPeer {
public:
  ServedPeer(Node& node, kj::AsyncIoContext& io) : io_(io) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    kj::AutoCloseFd ours(pair[0]);
    server_ = kj::heap<Connection>(node, wrap(kj::mv(ours)));
    stream_ = wrap(kj::AutoCloseFd(pair[1]));
    network_ = kj::heap<capnp::TwoPartyVatNetwork>(*stream_, capnp::rpc::twoparty::Side::CLIENT,
                                                   kFromPrivd);
    rpc_.emplace(capnp::makeRpcClient(*network_));
  }

  schema::Handshake::Client handshake() {
    capnp::MallocMessageBuilder message;
    auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
    vat.setSide(capnp::rpc::twoparty::Side::SERVER);
    return KJ_ASSERT_NONNULL(rpc_).bootstrap(vat).castAs<schema::Handshake>();
  }

  using Entered = capnp::Response<schema::Handshake::EnterResults>;
  Entered knock() {
    auto request = handshake().enterRequest();
    request.setProtocol(schema::PROTOCOL);
    return request.send().wait(io_.waitScope);
  }

  schema::Session::Client enter() { return knock().getAnswer().getSession(); }

  /// What it is told first.
  DecodedUpdate& updateOf(schema::Session::Client session) {
    auto request = session.watchRequest();
    request.setObserver(kj::heap<TakingObserver>(first_));
    subscription_ = request.send().wait(io_.waitScope).getSubscription();
    while (!first_) io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
    return *first_;
  }
  GroupControlClients& watch(schema::Session::Client session) {
    return updateOf(kj::mv(session)).controls;
  }

  /// Waits until privd hangs up; why.
  std::string hungUp() { return server_->ended().wait(io_.waitScope); }

private:
  kj::Own<kj::AsyncIoStream> wrap(kj::AutoCloseFd fd) {
    return io_.lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
  }

  kj::AsyncIoContext& io_;
  kj::Own<Connection> server_;
  kj::Own<kj::AsyncIoStream> stream_;
  kj::Own<capnp::TwoPartyVatNetwork> network_;
  kj::Maybe<capnp::RpcSystem<capnp::rpc::twoparty::VatId>> rpc_;
  std::optional<DecodedUpdate> first_;
  kj::Maybe<schema::Subscription::Client> subscription_;
};

class ServedRpc : public testing::Test {
protected:
  ServedRpc() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:01:00.1"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    source_.emplace(io_.provider->getTimer(), 1, Rescan::mostlyGlances(10 * kj::SECONDS),
                    scanDeps(sysfs_, dev_), counts_);
  }
  ~ServedRpc() noexcept override = default;

  void poll() { io_.waitScope.poll(); }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  DiscoveryCounts counts_;
  kj::Maybe<SnapshotSource> source_;
  Node node() {
    return Node{KJ_ASSERT_NONNULL(source_), counts_, sysfs_, dev_, io_.provider->getTimer()};
  }
};

}  // namespace vfiogate
