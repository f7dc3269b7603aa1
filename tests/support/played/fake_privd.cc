#include "tests/support/played/fake_privd.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/base/task_queue.h"
#include "tests/support/played/fake_privd_binder.h"
#include "tests/support/played/fake_privd_gate.h"
#include "tests/support/played/fake_privd_rpc.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/debug.h>
#include <kj/thread.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr auto kRedial = 20 * kj::MILLISECONDS;
constexpr auto kGlance = 5 * kj::MILLISECONDS;

/// A session being served: the hardware process and the gate.
struct Connection {
  Connection(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel,
             kj::Own<kj::AsyncIoStream> io)
      : peer{play, nullptr, {}, 0},
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

/// What privd's hardware process connects as. Of this thread only.
class ActingAs {
public:
  explicit ActingAs(std::optional<uid_t> user) : user_(user) {
    if (user_) become(*user_);
  }
  ~ActingAs() {
    if (user_) become(0);
  }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

private:
  static void become(uid_t user) {
    KJ_SYSCALL(syscall(SYS_setresuid, static_cast<uid_t>(-1), user, static_cast<uid_t>(-1)));
  }

  const std::optional<uid_t> user_;
};

}  // namespace

class FakePrivd::Impl {
public:
  explicit Impl(Setup setup) : play_(std::move(setup)), hasBinder_(play_.setup.hasBinder) {
    started_.get_future().wait();
  }

  ~Impl() { stop_->fulfill(); }

  /// Carries `act` out on privd's thread and waits for it.
  template <typename Act>
  void onThread(Act act) {
    const auto task = std::make_shared<std::packaged_task<void()>>(std::ref(act));
    std::future<void> done = task->get_future();
    KJ_ASSERT(tasks_.post([task]() { (*task)(); }));
    done.get();
  }

  Play& play() { return play_; }
  kj::Maybe<kj::Own<Connection>>& connection() { return connection_; }
  kj::Maybe<kj::Own<PlayedBinder>>& binder() { return binder_; }
  void setBinder(bool there) {
    hasBinder_ = there;
    if (there) return;
    KJ_IF_MAYBE (leaves, binderLeaves_) (*leaves)->fulfill();
  }

private:
  void run() {
    auto io = kj::setupAsyncIo();
    io_ = &io;
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    auto working = tasks_.run(io.unixEventPort).eagerlyEvaluate(nullptr);
    auto binding = bindForever().eagerlyEvaluate(nullptr);
    auto dialling = dialForever().eagerlyEvaluate(nullptr);
    auto watching = watchFiles().eagerlyEvaluate(nullptr);
    started_.set_value();
    stop.promise.wait(io.waitScope);
    watching = nullptr;
    dialling = nullptr;
    binding = nullptr;
    connection_ = nullptr;
    binder_ = nullptr;
    play_.waiting.clear();
    working = nullptr;
  }

  kj::Promise<void> dialForever() {
    return serve()
        .then([this]() { return io_->provider->getTimer().afterDelay(kRedial); })
        .then([this]() { return dialForever(); });
  }

  kj::Promise<void> bindForever() {
    return serveBinder()
        .then([this]() { return io_->provider->getTimer().afterDelay(kRedial); })
        .then([this]() { return bindForever(); });
  }

  /// Polls in short turns: the real one is told by the kernel.
  kj::Promise<void> watchFiles() {
    KJ_IF_MAYBE (binder, binder_) (*binder)->tellNews();
    KJ_IF_MAYBE (connection, connection_) {
      (*connection)->gate.tellNewFiles();
      (*connection)->peer.tellDueDelta();
    }
    return io_->provider->getTimer().afterDelay(kGlance).then([this]() { return watchFiles(); });
  }

  /// One session, until it ends.
  kj::Promise<void> serve() {
    if (play_.setup.channelVersion != kChannelVersion) return serveOtherVersion();
    kj::AutoCloseFd hardware;
    {
      const ActingAs user(play_.setup.hardwareUid);
      auto made = dialAt(play_.setup.plugindSocket.c_str());
      if (!made) return kj::READY_NOW;
      hardware = kj::mv(made).value();
    }
    if (!sendHardwareOpening(hardware, kChannelVersion)) return kj::READY_NOW;
    auto channel = openChannel(PrivdRole::kGate);
    KJ_IF_MAYBE (gate, channel) {
      auto connection =
          kj::heap<Connection>(play_, io_->unixEventPort, kj::mv(*gate),
                               io_->lowLevelProvider->wrapSocketFd(kj::mv(hardware), kStreamFlags));
      auto ended = connection->network.onDisconnect().exclusiveJoin(connection->gate.ended());
      connection_ = kj::mv(connection);
      return ended.then([this]() {
        ++play_.hangUps;
        connection_ = nullptr;
      });
    }
    return kj::READY_NOW;
  }

  /// One connection of the binder's, until it ends.
  kj::Promise<void> serveBinder() {
    if (!hasBinder_ || play_.setup.channelVersion != kChannelVersion) return kj::READY_NOW;
    auto channel = openChannel(PrivdRole::kBinder);
    KJ_IF_MAYBE (end, channel) {
      auto binder = kj::heap<PlayedBinder>(play_, io_->unixEventPort, kj::mv(*end));
      auto served = binder->serve();
      binder_ = kj::mv(binder);
      auto left = kj::newPromiseAndFulfiller<void>();
      binderLeaves_ = kj::mv(left.fulfiller);
      return served.exclusiveJoin(kj::mv(left.promise)).then([this]() { binder_ = nullptr; });
    }
    return kj::READY_NOW;
  }

  /// Null: plugind is not there.
  kj::Maybe<kj::AutoCloseFd> openChannel(PrivdRole role) {
    auto made = dialAt(play_.setup.plugindSocket.c_str());
    if (!made) return nullptr;
    const kj::AutoCloseFd connection = kj::mv(made).value();
    auto opened = sendChannelOpening(connection, role, kChannelVersion);
    if (!opened) return nullptr;
    return kj::mv(opened).value();
  }

  /// As the gate of another release would.
  kj::Promise<void> serveOtherVersion() {
    auto made = dialAt(play_.setup.plugindSocket.c_str());
    if (!made) return kj::READY_NOW;
    kj::AutoCloseFd fd = kj::mv(made).value();
    // Kept open: plugind hangs up.
    auto channel = sendChannelOpening(fd, PrivdRole::kGate, play_.setup.channelVersion);
    auto stream = io_->lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
    auto& reading = *stream;
    return reading.readAllText()
        .ignoreResult()
        .attach(kj::mv(stream), kj::mv(channel))
        .then([this]() { ++play_.hangUps; }, [this](kj::Exception&&) { ++play_.hangUps; });
  }

  Play play_;
  std::promise<void> started_;
  kj::AsyncIoContext* io_ = nullptr;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  TaskQueue tasks_;
  kj::Maybe<kj::Own<Connection>> connection_;
  kj::Maybe<kj::Own<PlayedBinder>> binder_;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> binderLeaves_;
  bool hasBinder_ = true;
  kj::Thread thread_{[this]() { run(); }};  // last: uses all of the above, joined first
};

FakePrivd::FakePrivd(Setup setup) : impl_(std::make_unique<Impl>(std::move(setup))) {}
FakePrivd::~FakePrivd() = default;

void FakePrivd::setHardware(Snapshot hardware) {
  impl_->onThread([&]() {
    impl_->play().hardware = std::move(hardware);
    ++impl_->play().generation;
    KJ_IF_MAYBE (binder, impl_->binder()) (*binder)->tellNews();
    KJ_IF_MAYBE (connection, impl_->connection()) {
      (*connection)->gate.tellNewFiles();
      (*connection)->peer.tellDelta();
    }
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

void FakePrivd::setProbe(binder::Probed::Found found, std::uint16_t error) {
  impl_->onThread([&]() { impl_->play().probe = {0, found, error}; });
}

void FakePrivd::setSerial(binder::SerialTold told) {
  impl_->onThread([&]() { impl_->play().serial = std::move(told); });
}

void FakePrivd::makeBusy(unsigned times) {
  impl_->onThread([&]() { impl_->play().busy = times; });
}

void FakePrivd::failRecords() {
  impl_->onThread([&]() { impl_->play().recordsFail = true; });
}

void FakePrivd::setBinder(bool there) {
  impl_->onThread([&]() { impl_->setBinder(there); });
}

void FakePrivd::stallRereads() {
  impl_->onThread([&]() { impl_->play().rereadsStall = true; });
}

void FakePrivd::stallDiscovery() {
  impl_->onThread([&]() { impl_->play().discoveryStalls = true; });
}

void FakePrivd::stallProbes() {
  impl_->onThread([&]() { impl_->play().probesStall = true; });
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
unsigned FakePrivd::discoveries() const {
  return impl_->play().discoveries;
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
unsigned FakePrivd::serials() const {
  return impl_->play().serials;
}

unsigned FakePrivd::probes() const {
  return impl_->play().probes;
}
unsigned FakePrivd::hangUps() const {
  return impl_->play().hangUps;
}

}  // namespace vfiogate::test
