#include "plugind/privd_link.h"

#include "ipc/socket/unix_socket.h"
#include "plugind/log_line.h"
#include "plugind/spec_client.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// From the connection to its first byte, which privd sends at once.
constexpr auto kOpeningPatience = 2 * kj::SECONDS;
/// Connections that have not said their version yet.
constexpr unsigned kMostOpenings = 4;
/// A visitor waits for the metrics, with or without privd's.
constexpr auto kCountsPatience = 50 * kj::MILLISECONDS;
/// Between two log lines about strangers.
constexpr auto kTellingPause = 1 * kj::SECONDS;
/// After the process ran out of descriptors.
constexpr auto kAcceptPause = 1 * kj::SECONDS;
constexpr const char* kAway = "privd is away";

/// Resolves with the end of the descriptor channel; fails in words.
kj::Promise<kj::AutoCloseFd> readOpening(kj::UnixEventPort::FdObserver& readable, int fd) {
  auto received = receiveOpening(fd);
  if (!received) return KJ_EXCEPTION(FAILED, received.error().c_str());
  auto channel = kj::mv(received).value();
  KJ_IF_MAYBE (end, channel) return kj::mv(*end);
  return readable.whenBecomesReadable().then(
      [&readable, fd]() { return readOpening(readable, fd); });
}

template <typename T>
Result<T, SocketRefusal> privdAway() {
  return Failure{SocketRefusal{kAway}};
}

template <typename T>
kj::Promise<Result<T, SocketRefusal>> orRefusal(kj::Promise<Result<T, SocketRefusal>> answer) {
  return answer.catch_([](kj::Exception&& failure) {
    return Result<T, SocketRefusal>(Failure{SocketRefusal{failure.getDescription().cStr()}});
  });
}

template <typename T>
kj::Promise<Result<T, SpecTrouble>> orTrouble(kj::Promise<Result<T, SpecTrouble>> answer) {
  return answer.catch_([](kj::Exception&& failure) {
    switch (failure.getType()) {
      case kj::Exception::Type::UNIMPLEMENTED:
        return Result<T, SpecTrouble>(
            Failure{SpecTrouble{"privd is too old to write claims' specs"}});
      case kj::Exception::Type::DISCONNECTED:
        return Result<T, SpecTrouble>(Failure{SpecTrouble{kAway, true}});
      default:
        return Result<T, SpecTrouble>(Failure{SpecTrouble{failure.getDescription().cStr(), true}});
    }
  });
}

}  // namespace

PrivdLink::PrivdLink(kj::AutoCloseFd listener, Users users, const LoopParts& loop)
    : listener_(kj::mv(listener)),
      users_(users),
      loop_(loop),
      readable_(loop.port, listener_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      tasks_(*this) {}

void PrivdLink::start(PrivdEvents& events, kj::Function<void(kj::AutoCloseFd, Visitor)> visitor) {
  events_ = &events;
  visitor_ = kj::mv(visitor);
  tasks_.add(acceptForever());
}

kj::Promise<void> PrivdLink::acceptForever() {
  return kj::evalNow([this]() {
           takeConnections();
           starved_ = false;
           return readable_.whenBecomesReadable();
         })
      .catch_([this](kj::Exception&& failure) {
        if (!std::exchange(starved_, true)) {
          logError(LogEvent::kAcceptFailed,
                   {{"where", "privd"}, {"why", failure.getDescription().cStr()}});
        }
        return loop_.timer.afterDelay(kAcceptPause);
      })
      .then([this]() { return acceptForever(); });
}

void PrivdLink::takeConnections() {
  for (;;) {
    auto accepted = acceptFrom(listener_.get());
    KJ_IF_MAYBE (connection, accepted) {
      admit(kj::mv(*connection));
    } else {
      return;
    }
  }
}

void PrivdLink::admit(kj::AutoCloseFd connection) {
  const PeerIdentity peer = peerOf(connection.get());
  if (peer.uid != users_.privd) {
    if (peer.uid == users_.own) return visitor_(kj::mv(connection), Visitor::kOwnUser);
    if (peer.uid == users_.netd) return visitor_(kj::mv(connection), Visitor::kNetd);
    return refuse("not privd's user", peer.uid);
  }
  if (session_.get() != nullptr) return refuse("privd is here already", peer.uid);
  if (openings_ >= kMostOpenings) return refuse("too many that say nothing", peer.uid);
  ++openings_;
  tasks_.add(awaitOpening(kj::mv(connection)).attach(kj::defer([this]() { --openings_; })));
}

kj::Promise<void> PrivdLink::awaitOpening(kj::AutoCloseFd connection) {
  const int fd = connection.get();
  auto readable = kj::heap<kj::UnixEventPort::FdObserver>(
      loop_.port, fd, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto opening = readOpening(*readable, fd).attach(kj::mv(readable));
  return loop_.timer.timeoutAfter(kOpeningPatience, kj::mv(opening))
      .then(
          [this, connection = kj::mv(connection)](kj::AutoCloseFd channel) mutable {
            begin({kj::mv(connection), kj::mv(channel)});
          },
          [this](kj::Exception&& failure) {
            tellFailure(LogEvent::kHandshakeFailed, failure.getDescription().cStr());
          });
}

void PrivdLink::begin(PrivdOpening opening) {
  if (session_.get() != nullptr) return refuse("privd is here already", users_.privd);
  there_ = true;
  session_ = kj::heap<PrivdSession>(kj::mv(opening), *events_, lease_, loop_);
  tasks_.add(session_->run().then([this](std::string why) { over(why); }));
}

void PrivdLink::over(const std::string& why) {
  if (session_->entered()) lastFailure_.clear();
  tellFailure(session_->entered() ? LogEvent::kPrivdWent : LogEvent::kHandshakeFailed, why);
  tellGone();
  session_ = nullptr;
}

void PrivdLink::tellFailure(LogEvent event, const std::string& why) {
  // A privd of another release dials for as long as it runs: the same reason is told once.
  if (why == lastFailure_) return;
  lastFailure_ = why;
  logWarning(event, {{"why", why}});
}

void PrivdLink::tellGone() {
  if (std::exchange(there_, false)) events_->privdWent();
}

void PrivdLink::refuse(const char* why, uid_t uid) {
  ++refused_;
  // Whoever may reach the socket can dial in a loop.
  if (refused_ > 1 && loop_.timer.now() - refusalTold_ < kTellingPause) return;
  refusalTold_ = loop_.timer.now();
  logWarning(LogEvent::kPeerRefused, {{"where", "privd"},
                                      {"why", why},
                                      {"uid", uid},
                                      {"wanted_uid", users_.privd},
                                      {"refused", refused_}});
}

kj::Promise<GroupLook> PrivdLink::look(IommuGroupId group) {
  if (!there_) return GroupLook{GroupLook::Answer::kPrivdAway, {}};
  return session_->look(group).catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) {
      return GroupLook{GroupLook::Answer::kFailed, {}};
    }
    tellGone();
    return GroupLook{GroupLook::Answer::kPrivdAway, {}};
  });
}

kj::Promise<Told> PrivdLink::unlessAway(kj::Promise<Told> told) {
  return told.catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) return Told::kFailed;
    tellGone();
    return Told::kPrivdAway;
  });
}

kj::Promise<Told> PrivdLink::hold(IommuGroupId group) {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->hold(group));
}

kj::Promise<Told> PrivdLink::drop(IommuGroupId group) {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->drop(group));
}

kj::Promise<Told> PrivdLink::adopted() {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->adopted());
}

kj::Promise<BindOutcome> PrivdLink::unlessAway(kj::Promise<BindOutcome> outcome) {
  return outcome.catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) {
      return BindOutcome{BindOutcome::Answer::kFailed, failure.getDescription().cStr()};
    }
    tellGone();
    return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  });
}

kj::Promise<BindOutcome> PrivdLink::bind(IommuGroupId group) {
  if (!there_) return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  return unlessAway(session_->bind(group));
}

kj::Promise<BindOutcome> PrivdLink::giveBack(IommuGroupId group) {
  if (!there_) return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  return unlessAway(session_->giveBack(group));
}

kj::Promise<std::optional<DiscoveryCounts>> PrivdLink::discovery() {
  if (!there_) return std::optional<DiscoveryCounts>();
  return loop_.timer.timeoutAfter(kCountsPatience, session_->discovery())
      .then([](DiscoveryCounts counts) { return std::optional(counts); },
            [](kj::Exception&& /*failure*/) { return std::optional<DiscoveryCounts>(); });
}

kj::Promise<std::optional<SpecAnswer>> PrivdLink::declareSpecs(
    const std::vector<StaticSpec>& specs) {
  if (!there_) return std::optional<SpecAnswer>();
  return session_->declareSpecs(specs).then(
      [](SpecAnswer answer) { return std::optional(std::move(answer)); },
      [specs](kj::Exception&& failure) {
        // The session ends, or privd is of a release that writes none.
        if (failure.getType() == kj::Exception::Type::UNIMPLEMENTED) {
          return std::optional(answerForAll(specs, "privd is too old to write CDI specs"));
        }
        return std::optional<SpecAnswer>();
      });
}

kj::Promise<Result<std::vector<std::string>, SpecTrouble>> PrivdLink::writeClaimSpec(
    const ClaimSpec& spec) {
  if (!there_) return PrivdSession::SpecTexts(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->writeClaimSpec(spec));
}

kj::Promise<Result<Done, SpecTrouble>> PrivdLink::unlinkClaimSpec(const std::string& uid) {
  if (!there_) return Result<Done, SpecTrouble>(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->unlinkClaimSpec(uid));
}

kj::Promise<Result<std::vector<std::string>, SpecTrouble>> PrivdLink::claimSpecTexts() {
  if (!there_) return PrivdSession::SpecTexts(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->claimSpecTexts());
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdLink::dialKubelet() {
  if (!there_) return privdAway<kj::AutoCloseFd>();
  return orRefusal(session_->dialKubelet());
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdLink::listenFor(
    const ResourceName& resource) {
  if (!there_) return privdAway<PluginSocket>();
  return orRefusal(session_->listenFor(resource));
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdLink::listenForDra(const std::string& driver,
                                                                         DraSocket socket) {
  if (!there_) return privdAway<PluginSocket>();
  return orRefusal(session_->listenForDra(driver, socket));
}

kj::Promise<Result<CheckpointFile, SocketRefusal>> PrivdLink::checkpoint() {
  if (!there_) return privdAway<CheckpointFile>();
  return orRefusal(session_->checkpoint());
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdLink::dialPodResources() {
  if (!there_) return privdAway<kj::AutoCloseFd>();
  return orRefusal(session_->dialPodResources());
}

void PrivdLink::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "privd_link"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
