#pragma once
// privd's servers over a made-up tree, and plugind's end of the connection: in one process.

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/socket/unix_socket.h"
#include "ipc/types/snapshot_delta.h"
#include "privd/rpc/connection.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/played/claim_specs.h"

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <filesystem>
#include <memory>

namespace vfiogate {

/// Takes what the peer is told of the hardware.
class TakingObserver final : public schema::Observer::Server {
public:
  explicit TakingObserver(GroupControlClients& controls) : controls_(controls) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    auto decoded = decode(context.getParams().getUpdate());
    KJ_ASSERT(decoded.has_value(), decoded.error().what.c_str());
    auto taken = std::move(decoded).value();
    for (auto& [id, client] : taken.controls) controls_.insert_or_assign(id, client);
    return kj::READY_NOW;
  }

private:
  GroupControlClients& controls_;
};

/// A connection that privd dialled, both ends of it.
class ServedPeer {
public:
  static constexpr Rights kAll{.watch = true, .kubelet = true, .cdi = true};
  static inline const AuditPeer who{"root", 0, 4711};

  ServedPeer(Node& node, kj::AsyncIoContext& io, Rights rights = kAll) : io_(io), rights_(rights) {
    auto theirs = connect();
    auto sender = sendOpening(ours_);
    auto opening = receiveOpening(theirs).value();
    receiver_ =
        std::make_shared<DescriptorReceiver>(io.unixEventPort, kj::mv(KJ_ASSERT_NONNULL(opening)));
    serve(node, kj::mv(sender).value(), kj::mv(theirs));
  }
  /// One that never takes a descriptor: they go to `channel`, whose other end the caller has.
  ServedPeer(Node& node, kj::AsyncIoContext& io, DescriptorSender channel) : io_(io) {
    auto theirs = connect();
    serve(node, kj::mv(channel), kj::mv(theirs));
  }

  schema::Handshake::Client handshake() {
    capnp::MallocMessageBuilder message;
    auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
    vat.setSide(capnp::rpc::twoparty::Side::SERVER);
    return KJ_ASSERT_NONNULL(rpc_).bootstrap(vat).castAs<schema::Handshake>();
  }

  using Entered = capnp::Response<schema::Handshake::EnterResults>;
  Entered knock(std::uint64_t lease) {
    auto request = handshake().enterRequest();
    request.setProtocol(schema::PROTOCOL);
    request.setTicket(kLeaseTicket);
    request.setLease(lease);
    return request.send().wait(io_.waitScope);
  }

  /// As the plugind that has the node, or gets it.
  schema::Session::Client enter() {
    auto lock = receiver_ ? receiver_->await(kLeaseTicket, DescriptorKind::kLock)
                          : kj::Promise<kj::AutoCloseFd>(kj::NEVER_DONE);
    auto session = knock(0).getAnswer().getSession();
    if (receiver_) lock_ = lock.wait(io_.waitScope);
    return session;
  }

  static constexpr std::uint32_t kLeaseTicket = 1'000'000;

  /// What it was told, as of now.
  GroupControlClients& watch(schema::Session::Client session) {
    auto request = session.watchRequest();
    request.setObserver(kj::heap<TakingObserver>(controls_));
    subscription_ = request.send().wait(io_.waitScope).getAnswer().getSubscription();
    while (controls_.empty())
      io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
    return controls_;
  }

  DescriptorReceiver& descriptors() { return *receiver_; }

  /// Waits until privd hangs up; why.
  std::string hungUp() { return server_->ended().wait(io_.waitScope).cStr(); }

private:
  kj::AutoCloseFd connect() {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    ours_ = kj::AutoCloseFd(pair[0]);
    return kj::AutoCloseFd(pair[1]);
  }

  void serve(Node& node, DescriptorSender channel, kj::AutoCloseFd theirs) {
    server_ = kj::heap<Connection>(node, rights_, kj::mv(channel), wrap(kj::mv(ours_)), who);
    stream_ = wrap(kj::mv(theirs));
    network_ = kj::heap<capnp::TwoPartyVatNetwork>(*stream_, capnp::rpc::twoparty::Side::CLIENT,
                                                   kFromPrivd);
    rpc_.emplace(capnp::makeRpcClient(*network_));
  }

  kj::Own<kj::AsyncIoStream> wrap(kj::AutoCloseFd fd) {
    return io_.lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
  }

  kj::AsyncIoContext& io_;
  const Rights rights_ = kAll;
  kj::AutoCloseFd ours_;
  std::shared_ptr<DescriptorReceiver> receiver_;
  kj::Own<Connection> server_;
  kj::Own<kj::AsyncIoStream> stream_;
  kj::Own<capnp::TwoPartyVatNetwork> network_;
  kj::Maybe<capnp::RpcSystem<capnp::rpc::twoparty::VatId>> rpc_;
  kj::AutoCloseFd lock_;
  GroupControlClients controls_;
  kj::Maybe<schema::Subscription::Client> subscription_;
};

class ServedRpc : public testing::Test {
protected:
  ServedRpc() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:01:00.1"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    source_.emplace(io_.provider->getTimer(), 1, 60 * kj::SECONDS, scanDeps(sysfs_, dev_), counts_);
  }
  ~ServedRpc() noexcept override = default;

  static kj::Vector<kj::String> prefixes() {
    kj::Vector<kj::String> result;
    result.add(kj::str("vfiogate.dev/"));
    return result;
  }
  std::string deviceDirectory() const { return dir_ / "device-plugins"; }
  void poll() { io_.waitScope.poll(); }

  TempDir dir_;
  const bool made_ = std::filesystem::create_directory(dir_ / "device-plugins");
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  KubeletGate gate_{io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), prefixes(),
                    test::kDraDriver.c_str()};
  DiscoveryCounts counts_;
  kj::Maybe<SnapshotSource> source_;
  AllocationRecords allocations_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  PlugindLease lease_ = PlugindLease::open(dir_.path(), 40).value();
  PlugindConfig config_{io_.unixEventPort, io_.provider->getTimer(),
                        kj::str(dir_.path().c_str(), "/plugind.yaml")};
  CdiStore cdi_{dir_ / "cdi", gate_, dev_};
  ClaimStore claims_{dir_ / "cdi", dir_ / "metadata", gate_, dev_};
  virtual kj::Maybe<AllocationBinder&> binder() { return nullptr; }
  Node node() {
    return Node{KJ_ASSERT_NONNULL(source_),
                counts_,
                sysfs_,
                dev_,
                gate_,
                allocations_,
                lease_,
                config_,
                cdi_,
                binder(),
                io_.provider->getTimer(),
                nullptr,
                claims_};
  }
};

}  // namespace vfiogate
