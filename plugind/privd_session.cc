#include "plugind/privd_session.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/stream_flags.h"
#include "plugind/claim_client.h"
#include "plugind/files_observer.h"
#include "plugind/log_line.h"
#include "plugind/spec_client.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// privd answers at once, or is not privd.
constexpr auto kEnterPatience = 5 * kj::SECONDS;
/// Between two questions whether the node is free; doubled each time.
constexpr auto kFirstPause = 250 * kj::MILLISECONDS;
constexpr auto kLongestPause = 2 * kj::SECONDS;
/// The gate's tickets begin after it.
constexpr std::uint32_t kLeaseTicket = 0;
/// privd makes a socket or dials at once; with the kernel's leave within 2 s.
constexpr auto kGatePatience = 10 * kj::SECONDS;
/// Files of some kilobytes, on a disk that may be slow.
constexpr auto kSpecsPatience = 10 * kj::SECONDS;
/// Both together below what privd bears (kMaxOpenQuestions), with room for the session's own calls.
constexpr unsigned kCallsAtOnce = 8;
constexpr unsigned kChangesAtOnce = 4;
/// From a change's answer to the update that shows it, which privd has by then.
constexpr auto kShowPatience = 10 * kj::SECONDS;

template <typename Results>
using Response = capnp::Response<Results>;

std::string describe(const kj::Exception& exception) {
  return exception.getDescription().cStr();
}

/// Why a session did not come about; the exchange of versions comes first in it.
std::string whyNotEntered(schema::EnterAnswer::Reader answer) {
  if (!answer.isWrongProtocol()) return "it answered the exchange of versions with nonsense";
  return "it speaks protocol " + std::to_string(answer.getWrongProtocol()) + ", this is protocol " +
         std::to_string(schema::PROTOCOL) + ": update both to the same release";
}

schema::Door::Client doorOf(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& rpc) {
  capnp::MallocMessageBuilder message;
  auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
  vat.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc.bootstrap(vat).castAs<schema::Door>();
}

}  // namespace

class PrivdSession::HardwareObserver final : public schema::Observer::Server {
public:
  explicit HardwareObserver(PrivdSession& session) : session_(session) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    session_.take(context.getParams().getUpdate());
    return kj::READY_NOW;
  }

private:
  PrivdSession& session_;  // its RPC system owns this
};

PrivdSession::PrivdSession(PrivdOpening opening, PrivdEvents& events, NodeLease& lease,
                           const LoopParts& loop)
    : events_(events),
      lease_(lease),
      loop_(loop),
      descriptors_(std::make_shared<DescriptorReceiver>(loop.port, kj::mv(opening.channel))),
      stream_(loop.streams.wrapSocketFd(kj::mv(opening.connection), kStreamFlags)),
      network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
      rpc_(capnp::makeRpcClient(network_)),
      calls_(kCallsAtOnce),
      changes_(kChangesAtOnce) {}

PrivdSession::~PrivdSession() noexcept(false) {
  asked_.cancel(KJ_EXCEPTION(DISCONNECTED, "privd is away"));
}

kj::Promise<std::string> PrivdSession::run() {
  auto left = network_.onDisconnect().then([]() { return std::string("it left"); });
  auto served = asked_.wrap(enter()).then(
      []() -> kj::Promise<std::string> { return kj::NEVER_DONE; },
      [](kj::Exception&& failure) -> kj::Promise<std::string> { return describe(failure); });
  return left.exclusiveJoin(kj::mv(over_.promise)).exclusiveJoin(kj::mv(served));
}

kj::Promise<void> PrivdSession::enter() {
  return askEntry(kFirstPause).then([this]() {
    // The gate first: what the hardware starts wants its sockets at once.
    auto opened = openGate().then([this]() { return subscribe(); });
    return loop_.timer.timeoutAfter(kEnterPatience, kj::mv(opened)).then([this]() {
      entered_ = true;
      watchConfig();
      logInfo(LogEvent::kPrivdCame);
    });
  });
}

kj::Promise<void> PrivdSession::askEntry(kj::Duration pause) {
  auto request = doorOf(rpc_).enterRequest();
  request.setProtocol(schema::PROTOCOL);
  request.setTicket(kLeaseTicket);
  request.setLease(lease_.number);
  auto lock =
      descriptors_->await(kLeaseTicket, DescriptorKind::kLock)
          .attach(kj::defer([descriptors = descriptors_]() { descriptors->forget(kLeaseTicket); }));
  return loop_.timer.timeoutAfter(kEnterPatience, request.send())
      .then([this, pause, lock = kj::mv(lock)](
                Response<schema::Door::EnterResults> response) mutable -> kj::Promise<void> {
        const auto answer = response.getAnswer();
        if (answer.isLeased()) {
          lock = nullptr;
          return askEntryLater(pause);
        }
        if (!answer.isSession()) {
          hangUp(whyNotEntered(answer));
          return kj::NEVER_DONE;
        }
        session_ = answer.getSession();
        events_.rightToBindTold(answer.getMayBind());
        const auto number = answer.getLease();
        if (number == lease_.number) return kj::READY_NOW;
        return lock.then([this, number](kj::AutoCloseFd arrived) {
          lease_ = NodeLease{number, kj::mv(arrived)};
        });
      });
}

kj::Promise<void> PrivdSession::askEntryLater(kj::Duration pause) {
  if (pause == kFirstPause) {
    logWarning(LogEvent::kLeaseAwaited, {{"why", "another plugind lends on this node"},
                                         {"then", "waits until that one ends"}});
  }
  return loop_.timer.afterDelay(pause).then(
      [this, pause]() { return askEntry(kj::min(pause * 2, kLongestPause)); });
}

kj::Promise<void> PrivdSession::subscribe() {
  awaitingWhole_ = true;
  auto request = KJ_ASSERT_NONNULL(session_).watchRequest();
  request.setObserver(kj::heap<HardwareObserver>(*this));
  return request.send().then([this](Response<schema::Session::WatchResults> response) {
    const auto answer = response.getAnswer();
    if (answer.isSubscription()) {
      subscription_ = answer.getSubscription();
    } else {
      hangUp("it gives no right to watch: see privd's --plugind-rights");
    }
  });
}

kj::Promise<void> PrivdSession::openGate() {
  auto request = KJ_ASSERT_NONNULL(session_).kubeletRequest();
  return request.send().then(
      [this](Response<schema::Session::KubeletResults> response) -> kj::Promise<void> {
        const auto answer = response.getAnswer();
        if (!answer.isGate()) {
          hangUp("it gives no right to the kubelet's sockets: see privd's --plugind-rights");
          return kj::READY_NOW;
        }
        gate_.emplace(answer.getGate(), descriptors_, calls_);
        return KJ_ASSERT_NONNULL(gate_).watch(kj::heap<FilesObserver>(events_)).then([this]() {
          events_.socketsAvailable();
        });
      });
}

void PrivdSession::watchConfig() {
  config_.emplace(KJ_ASSERT_NONNULL(session_), descriptors_, events_, loop_.timer);
  watchingConfig_ =
      KJ_ASSERT_NONNULL(config_).run().eagerlyEvaluate([this](kj::Exception&& failure) {
        const auto type = failure.getType();
        const bool older = type == kj::Exception::Type::UNIMPLEMENTED;  // it watches none
        if (!older && type != kj::Exception::Type::DISCONNECTED) hangUp(describe(failure));
      });
}

void PrivdSession::take(schema::Update::Reader update) {
  if (awaitingWhole_ && !update.isFull()) return;  // of the subscription before
  auto decoded = decode(update);
  if (!decoded) {
    hangUp("it sent an update that makes no sense: " + decoded.error().what);
    return;
  }
  if (hardware_.take(std::move(decoded).value()) == HardwareView::Taken::kMissing) {
    logWarning(LogEvent::kUpdateRefused,
               {{"why", "it does not follow the one before"}, {"then", "asked for the whole"}});
    resubscribing_ =
        subscribe().eagerlyEvaluate([this](kj::Exception&& failure) { hangUp(describe(failure)); });
    return;
  }
  awaitingWhole_ = false;
  events_.hardwareSeen(hardware_.snapshot());
  while (!awaited_.empty() && hardware_.shows(awaited_.begin()->first)) {
    awaited_.extract(awaited_.begin()).mapped()->fulfill();
  }
}

kj::Promise<GroupLook> PrivdSession::look(IommuGroupId group) {
  if (!hardware_.snapshot().groups.contains(group)) {
    return GroupLook{GroupLook::Answer::kVanished, {}};
  }
  KJ_IF_MAYBE (control, hardware_.control(group)) {
    return asked_.wrap(calls_.pass([this, client = kj::mv(*control)]() mutable {
      return client.lookRequest().send().then(
          [this](Response<schema::GroupControl::LookResults> response) {
            return takeLook(response.getAnswer());
          });
    }));
  }
  return GroupLook{GroupLook::Answer::kFailed, {}};
}

GroupLook PrivdSession::takeLook(schema::LookAnswer::Reader answer) {
  if (answer.isVanished()) return {GroupLook::Answer::kVanished, {}};
  if (!answer.isSeen()) return {GroupLook::Answer::kFailed, {}};
  auto decoded = decode(answer.getSeen());
  if (!decoded) {
    hangUp("it answered a look with what makes no sense: " + decoded.error().what);
    return {GroupLook::Answer::kFailed, {}};
  }
  return {GroupLook::Answer::kSeen, std::move(decoded).value().snapshot};
}

kj::Promise<void> PrivdSession::untilShown(std::uint64_t generation) {
  if (hardware_.shows(generation)) return kj::READY_NOW;
  auto shown = kj::newPromiseAndFulfiller<void>();
  awaited_.emplace(generation, kj::mv(shown.fulfiller));
  return loop_.timer.timeoutAfter(kShowPatience, kj::mv(shown.promise))
      .catch_([this](kj::Exception&& failure) -> kj::Promise<void> {
        hangUp("it never showed what a change of drivers left: " + describe(failure));
        return kj::mv(failure);
      });
}

kj::Promise<BindOutcome> PrivdSession::change(IommuGroupId group, AskForChange ask) {
  KJ_IF_MAYBE (control, hardware_.control(group)) {
    return asked_.wrap(changes_.pass([this, ask, client = kj::mv(*control)]() mutable {
      return ask(kj::mv(client)).then([this](BindAnswered answered) {
        return untilShown(answered.generation).then([outcome = std::move(answered.outcome)]() {
          return outcome;
        });
      });
    }));
  }
  return BindOutcome{BindOutcome::Answer::kVanished, {}};
}

kj::Promise<BindOutcome> PrivdSession::bind(IommuGroupId group) {
  return change(group, askToBind);
}

kj::Promise<BindOutcome> PrivdSession::giveBack(IommuGroupId group) {
  return change(group, askToGiveBack);
}

template <typename Call>
kj::Promise<Told> PrivdSession::tell(Call call) {
  return asked_.wrap(calls_.pass([call = kj::mv(call)]() mutable {
    return call().send().ignoreResult().then([]() { return Told::kDone; });
  }));
}

kj::Promise<Told> PrivdSession::hold(IommuGroupId group) {
  KJ_IF_MAYBE (control, hardware_.control(group)) {
    held_.insert_or_assign(group, *control);
    return tell([client = kj::mv(*control)]() mutable { return client.holdRequest(); });
  }
  return Told::kFailed;
}

kj::Promise<Told> PrivdSession::drop(IommuGroupId group) {
  auto holding = held_.extract(group);
  kj::Maybe<schema::GroupControl::Client> control = hardware_.control(group);
  if (!holding.empty()) control = kj::mv(holding.mapped());
  KJ_IF_MAYBE (client, control) {
    return tell([client = kj::mv(*client)]() mutable { return client.dropRequest(); });
  }
  return Told::kFailed;
}

kj::Promise<Told> PrivdSession::adopted() {
  KJ_IF_MAYBE (session, session_) {
    return tell([client = *session]() mutable { return client.adoptedRequest(); });
  }
  return KJ_EXCEPTION(DISCONNECTED, "privd has not let us in yet");
}

kj::Promise<DiscoveryCounts> PrivdSession::discovery() {
  KJ_IF_MAYBE (session, session_) {
    return asked_.wrap(calls_.pass([client = *session]() mutable {
      return client.discoveryRequest().send().then(
          [](capnp::Response<schema::Session::DiscoveryResults> response) {
            const auto told = response.getCounts();
            return DiscoveryCounts{.looks = told.getLooks(),
                                   .sweeps = told.getSweeps(),
                                   .failedSweeps = told.getFailedSweeps(),
                                   .sweepTime = std::chrono::nanoseconds(told.getSweepTime()),
                                   .hints = told.getHints(),
                                   .foreign = told.getForeign(),
                                   .losses = told.getLosses(),
                                   .landlock = told.getLandlock()};
          });
    }));
  }
  return KJ_EXCEPTION(DISCONNECTED, "privd has not let us in yet");
}

template <typename Ask>
kj::PromiseForResult<Ask, schema::Session::Client&> PrivdSession::askForSpecs(Ask ask) {
  using Asked = kj::PromiseForResult<Ask, schema::Session::Client&>;
  KJ_IF_MAYBE (session, session_) {
    Asked answered = calls_.pass(
        [client = *session, ask = kj::mv(ask)]() mutable -> Asked { return ask(client); });
    return asked_.wrap(loop_.timer.timeoutAfter(kSpecsPatience, kj::mv(answered))
                           .catch_([this](kj::Exception&& failure) -> Asked {
                             if (failure.getType() != kj::Exception::Type::UNIMPLEMENTED) {
                               hangUp("it writes no specs: " + describe(failure));
                             }
                             return kj::mv(failure);
                           }));
  }
  return KJ_EXCEPTION(DISCONNECTED, "privd has not let us in yet");
}

kj::Promise<SpecAnswer> PrivdSession::declareSpecs(const std::vector<StaticSpec>& specs) {
  return askForSpecs([this, specs](schema::Session::Client& client) {
    auto request = client.declareSpecsRequest();
    encode(specs, request.initSpecs(static_cast<capnp::uint>(specs.size())));
    return request.send().then(
        [this, specs](Response<schema::Session::DeclareSpecsResults> response) {
          auto answer = decode(response.getAnswer(), specs);
          if (answer) return std::move(answer).value();
          hangUp("it answered a declaration of specs with what makes no sense: " + answer.error());
          return answerForAll(specs, answer.error());
        });
  });
}

kj::Promise<PrivdSession::SpecTexts> PrivdSession::writeClaimSpec(const ClaimSpec& spec) {
  return askForSpecs([spec](schema::Session::Client& client) {
    auto request = client.writeClaimSpecRequest();
    encode(spec, request.initSpec());
    return request.send().then(
        [devices = spec.devices.size()](Response<schema::Session::WriteClaimSpecResults> response) {
          return decode(response.getAnswer(), devices);
        });
  });
}

kj::Promise<Result<Done, SpecTrouble>> PrivdSession::unlinkClaimSpec(const std::string& uid) {
  return askForSpecs([uid](schema::Session::Client& client) {
    auto request = client.unlinkClaimSpecRequest();
    request.setUid(uid);
    return request.send().then([](Response<schema::Session::UnlinkClaimSpecResults> response) {
      return decode(response.getAnswer());
    });
  });
}

kj::Promise<PrivdSession::SpecTexts> PrivdSession::claimSpecTexts() {
  return askForSpecs([](schema::Session::Client& client) {
    return client.claimSpecsRequest().send().then(
        [](Response<schema::Session::ClaimSpecsResults> response) {
          return decode(response.getAnswer());
        });
  });
}

template <typename T>
kj::Promise<T> PrivdSession::askGate(kj::Promise<T> answer) {
  // A gate that fails, or keeps us waiting, is mended by a new connection.
  return asked_.wrap(loop_.timer.timeoutAfter(kGatePatience, kj::mv(answer))
                         .catch_([this](kj::Exception&& failure) -> kj::Promise<T> {
                           hangUp("its gate failed: " + describe(failure));
                           return kj::mv(failure);
                         }));
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdSession::dialKubelet() {
  KJ_IF_MAYBE (gate, gate_) return askGate(gate->dialKubelet());
  return KJ_EXCEPTION(DISCONNECTED, "privd has not opened its gate yet");
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdSession::listenFor(
    const ResourceName& resource) {
  KJ_IF_MAYBE (gate, gate_) return askGate(gate->listenFor(resource));
  return KJ_EXCEPTION(DISCONNECTED, "privd has not opened its gate yet");
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdSession::listenForDra(
    const std::string& driver, DraSocket socket) {
  KJ_IF_MAYBE (gate, gate_) return askGate(gate->listenForDra(driver, socket));
  return KJ_EXCEPTION(DISCONNECTED, "privd has not opened its gate yet");
}

kj::Promise<Result<CheckpointFile, SocketRefusal>> PrivdSession::checkpoint() {
  KJ_IF_MAYBE (gate, gate_) return askGate(gate->checkpoint());
  return KJ_EXCEPTION(DISCONNECTED, "privd has not opened its gate yet");
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdSession::dialPodResources() {
  KJ_IF_MAYBE (gate, gate_) return askGate(gate->dialPodResources());
  return KJ_EXCEPTION(DISCONNECTED, "privd has not opened its gate yet");
}

void PrivdSession::hangUp(const std::string& why) {
  over_.fulfiller->fulfill(kj::cp(why));
}

}  // namespace vfiogate
