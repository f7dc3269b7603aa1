#include "tests/support/played/fake_privd.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "tests/support/played/fake_privd_gate.h"
#include "tests/support/played/fake_privd_rpc.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/debug.h>
#include <kj/thread.h>

#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <map>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr auto kRedial = 20 * kj::MILLISECONDS;
constexpr auto kGlance = 5 * kj::MILLISECONDS;

/// A peer being served.
struct Connection {
  Connection(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel,
             kj::Own<kj::AsyncIoStream> io)
      : peer{play, nullptr, {}, 0, false},
        gate(play, port, kj::mv(channel)),
        stream(kj::mv(io)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
        rpc(capnp::makeRpcServer(network, makeHandshake(peer))) {}

  PeerConnection peer;
  PlayedGate gate;
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

/// Opens with any byte, as a privd of another release would.
void sendOtherVersion(int fd, std::uint8_t version) {
  send(fd, &version, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

class FakePrivd::Impl {
public:
  explicit Impl(Setup setup) : play_(std::move(setup)) { started_.get_future().wait(); }

  ~Impl() { stop_->fulfill(); }

  /// Carries `act` out on privd's thread and waits for it.
  template <typename Act>
  void onThread(Act act) {
    executor_->executeSync([&act]() { act(); });
  }

  Play& play() { return play_; }
  kj::Maybe<kj::Own<Connection>>& connection() { return connection_; }

private:
  void run() {
    auto io = kj::setupAsyncIo();
    io_ = &io;
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    executor_ = &kj::getCurrentThreadExecutor();
    auto dialling = dialForever().eagerlyEvaluate(nullptr);
    auto watching = watchFiles().eagerlyEvaluate(nullptr);
    started_.set_value();
    stop.promise.wait(io.waitScope);
    watching = nullptr;
    dialling = nullptr;
    connection_ = nullptr;
    play_.waiting.clear();
  }

  kj::Promise<void> dialForever() {
    return serve()
        .then([this]() { return io_->provider->getTimer().afterDelay(kRedial); })
        .then([this]() { return dialForever(); });
  }

  /// Polls in short turns: the real one is told by the kernel.
  kj::Promise<void> watchFiles() {
    KJ_IF_MAYBE (connection, connection_) {
      (*connection)->gate.tellNewFiles();
      (*connection)->peer.tellDueDelta();
    }
    return io_->provider->getTimer().afterDelay(kGlance).then([this]() { return watchFiles(); });
  }

  /// One connection, until it ends.
  kj::Promise<void> serve() {
    auto made = dialAt(play_.setup.plugindSocket.c_str());
    if (!made) return kj::READY_NOW;
    kj::AutoCloseFd fd = kj::mv(made).value();
    if (play_.setup.channelVersion != kChannelVersion) return serveOtherVersion(kj::mv(fd));
    auto opened = sendOpening(fd.get(), kChannelVersion);
    if (!opened) return kj::READY_NOW;
    auto connection =
        kj::heap<Connection>(play_, io_->unixEventPort, kj::mv(opened).value(),
                             io_->lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags));
    auto ended = connection->network.onDisconnect();
    connection_ = kj::mv(connection);
    return ended.then([this]() {
      ++play_.hangUps;
      connection_ = nullptr;
    });
  }

  kj::Promise<void> serveOtherVersion(kj::AutoCloseFd fd) {
    sendOtherVersion(fd.get(), play_.setup.channelVersion);
    auto stream = io_->lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
    auto& reading = *stream;
    return reading.readAllText()
        .ignoreResult()
        .attach(kj::mv(stream))
        .then([this]() { ++play_.hangUps; }, [this](kj::Exception&&) { ++play_.hangUps; });
  }

  Play play_;
  std::promise<void> started_;
  kj::AsyncIoContext* io_ = nullptr;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  const kj::Executor* executor_ = nullptr;
  kj::Maybe<kj::Own<Connection>> connection_;
  kj::Thread thread_{[this]() { run(); }};  // last: uses all of the above, joined first
};

FakePrivd::FakePrivd(Setup setup) : impl_(std::make_unique<Impl>(std::move(setup))) {}
FakePrivd::~FakePrivd() = default;

void FakePrivd::setHardware(Snapshot hardware) {
  impl_->onThread([&]() {
    impl_->play().hardware = std::move(hardware);
    ++impl_->play().generation;
    KJ_IF_MAYBE (connection, impl_->connection()) (*connection)->peer.tellDelta();
  });
}

void FakePrivd::setLeased(bool leased) {
  impl_->onThread([&]() { impl_->play().leased = leased; });
}

void FakePrivd::setBinding(Binding binding) {
  impl_->onThread([&]() {
    impl_->play().binding = binding;
    auto waiting = std::exchange(impl_->play().waiting, {});
    for (auto& each : waiting) each->fulfill();
  });
}

void FakePrivd::makeBusy(unsigned times) {
  impl_->onThread([&]() { impl_->play().busy = times; });
}

void FakePrivd::failRecords() {
  impl_->onThread([&]() { impl_->play().recordsFail = true; });
}

void FakePrivd::stallRereads() {
  impl_->onThread([&]() { impl_->play().rereadsStall = true; });
}

void FakePrivd::skipADelta() {
  impl_->onThread([&]() {
    impl_->play().generation += 2;
    KJ_IF_MAYBE (connection, impl_->connection()) {
      (*connection)->peer.toldGeneration = impl_->play().generation - 1;
      (*connection)->peer.tellDelta();
    }
  });
}

std::map<std::string, ClaimSpec> FakePrivd::claimSpecs() const {
  std::map<std::string, ClaimSpec> specs;
  impl_->onThread([&]() {
    for (const auto& [uid, text] : impl_->play().claimSpecs) specs.emplace(uid, text.spec);
  });
  return specs;
}

void FakePrivd::setClaimTexts(std::vector<std::string> texts) {
  impl_->onThread([&]() { impl_->play().claimTexts = std::move(texts); });
}

void FakePrivd::failClaimSpecs(int error) {
  impl_->onThread([&]() { impl_->play().claimError = error; });
}

std::set<IommuGroupId> FakePrivd::held() const {
  std::set<IommuGroupId> held;
  impl_->onThread([&]() {
    for (const auto& [group, members] : impl_->play().held) held.insert(group);
  });
  return held;
}

unsigned FakePrivd::sessions() const {
  return impl_->play().sessions;
}
unsigned FakePrivd::wholes() const {
  return impl_->play().wholes;
}
unsigned FakePrivd::rereads() const {
  return impl_->play().rereads;
}
unsigned FakePrivd::adoptions() const {
  return impl_->play().adoptions;
}
unsigned FakePrivd::checkpoints() const {
  return impl_->play().checkpoints;
}
unsigned FakePrivd::turnedAway() const {
  return impl_->play().turnedAway;
}
unsigned FakePrivd::binds() const {
  return impl_->play().binds;
}
unsigned FakePrivd::returns() const {
  return impl_->play().returns;
}
unsigned FakePrivd::hangUps() const {
  return impl_->play().hangUps;
}

}  // namespace vfiogate::test
