#include "tests/support/fake_privd.h"

#include "ipc/codec/descriptor_channel.h"
#include "ipc/codec/encode_snapshot.h"
#include "ipc/codec/limits.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/socket/unix_socket.h"
#include "ipc/types/snapshot_delta.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/debug.h>
#include <kj/thread.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <future>
#include <map>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr auto kRedial = 20 * kj::MILLISECONDS;
constexpr auto kGlance = 5 * kj::MILLISECONDS;
constexpr unsigned kStreamFlags =
    kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC | kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;

/// What plays privd: used by its own thread only, but for the counts.
struct Play {
  explicit Play(FakePrivd::Setup how) : setup(std::move(how)), hardware(setup.hardware) {}

  const FakePrivd::Setup setup;
  Snapshot hardware;
  std::uint64_t generation = 1;
  bool looksStall = false;
  std::uint64_t appearances = 0;  ///< of the kubelet
  std::uint64_t checkpoints = 0;  ///< versions seen
  struct timespec checkpointChanged = {};
  std::atomic<unsigned> sessions = 0;
  std::atomic<unsigned> wholes = 0;
  std::atomic<unsigned> looks = 0;
  std::atomic<unsigned> hangUps = 0;
};

void describeKubelet(const std::string& directory, schema::SocketIdentity::Builder identity) {
  struct stat status = {};
  if (stat((directory + "/kubelet.sock").c_str(), &status) != 0) return;
  identity.setThere(true);
  identity.setInode(status.st_ino);
  identity.setChanged(status.st_ctim.tv_sec * std::int64_t{1'000'000'000} + status.st_ctim.tv_nsec);
}

Snapshot onlyGroup(const Snapshot& hardware, const IommuGroup& group) {
  Snapshot seen;
  seen.groups.emplace(group.id, group);
  for (const Bdf& member : group.members) seen.devices.emplace(member, hardware.devices.at(member));
  return seen;
}

class ControlServer final : public schema::GroupControl::Server {
public:
  ControlServer(Play& play, IommuGroupId id) : play_(play), id_(id) {}

protected:
  kj::Promise<void> look(LookContext context) override {
    ++play_.looks;
    if (play_.looksStall) return kj::NEVER_DONE;
    auto answer = context.getResults().initAnswer();
    const auto group = play_.hardware.groups.find(id_);
    if (group == play_.hardware.groups.end()) {
      answer.setVanished();
    } else {
      encode(onlyGroup(play_.hardware, group->second), answer.initSeen(), noControl);
    }
    return kj::READY_NOW;
  }

private:
  Play& play_;
  const IommuGroupId id_;
};

/// One connection: what it subscribed to and the way for its descriptors.
struct Line {
  Play& play;
  DescriptorSender channel;
  kj::Maybe<schema::Observer::Client> observer;
  kj::Maybe<schema::KubeletObserver::Client> kubeletObserver;
  Snapshot told;
  std::uint64_t toldGeneration = 0;

  void tell(Update update) {
    KJ_IF_MAYBE (watching, observer) {
      auto request = watching->changedRequest();
      encode(update, request.initUpdate(), [this](const IommuGroup& group) {
        return kj::Maybe<schema::GroupControl::Client>(kj::heap<ControlServer>(play, group.id));
      });
      request.send().ignoreResult().detach([](kj::Exception&&) {});
    }
  }

  void tellWhole() {
    ++play.wholes;
    told = play.hardware;
    toldGeneration = play.generation;
    tell({kEpoch, play.generation, play.hardware});
  }

  void tellDelta() {
    const auto changes = diff(std::exchange(told, play.hardware), play.hardware);
    const auto base = std::exchange(toldGeneration, play.generation);
    tell({kEpoch, play.generation, UpdateDelta{base, changes}});
  }

  void tellKubelet() {
    KJ_IF_MAYBE (watching, kubeletObserver) {
      auto request = watching->changedRequest();
      describeKubelet(play.setup.kubeletDir, request.initState().initKubelet());
      request.getState().setRegistrationSockets(play.appearances);
      request.getState().setCheckpoints(play.checkpoints);
      request.send().ignoreResult().detach([](kj::Exception&&) {});
    }
  }

  static constexpr std::uint64_t kEpoch = 77;
};

class GateServer final : public schema::KubeletGate::Server {
public:
  explicit GateServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> listen(ListenContext context) override {
    const auto params = context.getParams();
    // One name a resource, made otherwise than the real one's.
    std::string name = "fake-" + std::string(params.getResource()) + ".sock";
    for (char& c : name) c = c == '/' ? '_' : c;
    auto made = listenAt(line_.play.setup.kubeletDir.c_str(), name.c_str(), WhoMayConnect::kOwner);
    auto answer = context.getResults().initAnswer();
    if (!made) {
      answer.setFailed(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd listener = kj::mv(made).value();
    line_.channel.send(params.getTicket(), DescriptorKind::kListener, listener.get());
    answer.setEndpoint(name);
    return kj::READY_NOW;
  }

  kj::Promise<void> dial(DialContext context) override {
    auto answer = context.getResults().initAnswer();
    const bool pods = context.getParams().getSocket() == schema::KubeletSocket::POD_RESOURCES;
    const std::string directory = line_.play.setup.kubeletDir + (pods ? "/../pod-resources" : "");
    auto made = dialAt((directory + "/kubelet.sock").c_str());
    if (!made) {
      answer.setAbsent(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd connection = kj::mv(made).value();
    line_.channel.send(context.getParams().getTicket(), DescriptorKind::kConnection,
                       connection.get());
    answer.setConnected();
    return kj::READY_NOW;
  }

  kj::Promise<void> watch(WatchContext context) override {
    line_.kubeletObserver = context.getParams().getObserver();
    line_.tellKubelet();
    return kj::READY_NOW;
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    auto answer = context.getResults().initAnswer();
    const std::string path = line_.play.setup.kubeletDir + "/kubelet_internal_checkpoint";
    const kj::AutoCloseFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status = {};
    if (file.get() < 0 || fstat(file, &status) != 0) {
      answer.setAbsent();
      return kj::READY_NOW;
    }
    line_.channel.send(context.getParams().getTicket(), DescriptorKind::kFile, file.get());
    answer.initOpened().setModified(status.st_mtim.tv_sec * std::int64_t{1'000'000'000} +
                                    status.st_mtim.tv_nsec);
    describeKubelet(line_.play.setup.kubeletDir, answer.getOpened().initKubelet());
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

class SubscriptionServer final : public schema::Subscription::Server {};

class SessionServer final : public schema::Session::Server {
public:
  explicit SessionServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    line_.observer = context.getParams().getObserver();
    context.getResults().initAnswer().setSubscription(kj::heap<SubscriptionServer>());
    line_.tellWhole();
    return kj::READY_NOW;
  }

  kj::Promise<void> kubelet(KubeletContext context) override {
    context.getResults().initAnswer().setGate(kj::heap<GateServer>(line_));
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

class DoorServer final : public schema::Door::Server {
public:
  explicit DoorServer(Line& line) : line_(line) {}

protected:
  kj::Promise<void> enter(EnterContext context) override {
    auto answer = context.getResults().initAnswer();
    if (context.getParams().getProtocol() == line_.play.setup.protocol) {
      ++line_.play.sessions;
      answer.setSession(kj::heap<SessionServer>(line_));
    } else {
      answer.setWrongProtocol(line_.play.setup.protocol);
    }
    return kj::READY_NOW;
  }

private:
  Line& line_;
};

/// A line being served.
struct Connection {
  Connection(Play& play, DescriptorSender channel, kj::Own<kj::AsyncIoStream> io)
      : line{play, kj::mv(channel), nullptr, nullptr, {}, 0},
        stream(kj::mv(io)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, kFromPeer),
        rpc(capnp::makeRpcServer(network, schema::Door::Client(kj::heap<DoorServer>(line)))) {}

  Line line;
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
    auto watching = watchCheckpoint().eagerlyEvaluate(nullptr);
    started_.set_value();
    stop.promise.wait(io.waitScope);
    watching = nullptr;
    dialling = nullptr;
    connection_ = nullptr;
  }

  kj::Promise<void> dialForever() {
    return serve()
        .then([this]() { return io_->provider->getTimer().afterDelay(kRedial); })
        .then([this]() { return dialForever(); });
  }

  /// Looks at the file in short turns: the real one is told by the kernel.
  kj::Promise<void> watchCheckpoint() {
    struct stat status = {};
    const std::string path = play_.setup.kubeletDir + "/kubelet_internal_checkpoint";
    const bool there = stat(path.c_str(), &status) == 0;
    const auto& known = play_.checkpointChanged;
    if (there &&
        (status.st_ctim.tv_sec != known.tv_sec || status.st_ctim.tv_nsec != known.tv_nsec)) {
      play_.checkpointChanged = status.st_ctim;
      ++play_.checkpoints;
      KJ_IF_MAYBE (connection, connection_) (*connection)->line.tellKubelet();
    }
    return io_->provider->getTimer().afterDelay(kGlance).then(
        [this]() { return watchCheckpoint(); });
  }

  /// One connection, until it ends.
  kj::Promise<void> serve() {
    auto made = dialAt(play_.setup.plugindSocket.c_str());
    if (!made) return kj::READY_NOW;
    kj::AutoCloseFd fd = kj::mv(made).value();
    if (play_.setup.channelVersion != kChannelVersion) return serveOtherVersion(kj::mv(fd));
    auto opened = sendOpening(fd.get());
    if (!opened) return kj::READY_NOW;
    auto connection =
        kj::heap<Connection>(play_, kj::mv(opened).value(),
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
    KJ_IF_MAYBE (connection, impl_->connection()) (*connection)->line.tellDelta();
  });
}

void FakePrivd::tellKubeletAppeared() {
  impl_->onThread([&]() {
    ++impl_->play().appearances;
    KJ_IF_MAYBE (connection, impl_->connection()) (*connection)->line.tellKubelet();
  });
}

void FakePrivd::stallLooks() {
  impl_->onThread([&]() { impl_->play().looksStall = true; });
}

void FakePrivd::skipADelta() {
  impl_->onThread([&]() {
    impl_->play().generation += 2;
    KJ_IF_MAYBE (connection, impl_->connection()) {
      (*connection)->line.toldGeneration = impl_->play().generation - 1;
      (*connection)->line.tellDelta();
    }
  });
}

unsigned FakePrivd::sessions() const {
  return impl_->play().sessions;
}
unsigned FakePrivd::wholes() const {
  return impl_->play().wholes;
}
unsigned FakePrivd::looks() const {
  return impl_->play().looks;
}
unsigned FakePrivd::hangUps() const {
  return impl_->play().hangUps;
}

}  // namespace vfiogate::test
